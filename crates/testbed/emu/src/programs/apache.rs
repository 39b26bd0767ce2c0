//! Apache with its prefork processes, as in the study, on a configuration of its own.
//!
//! Everything is in a private directory: the configuration, the object, the logs. The system's
//! /etc/apache2 is never read. `AcceptFilter none` keeps TCP_DEFER_ACCEPT off, which would hold back the
//! handshake's last step; all processes are started at once, as the model's pool is there from the
//! beginning. See <https://httpd.apache.org/docs/2.4/mod/prefork.html>.
//!
//! Left out: access logs (the packets tell more) and every module the object does not need.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::filed::wrong;
use super::{PORT, ProgramError, Serving, find, last_lines};
use crate::isolation::{Lab, address_of};
use crate::process::{Identity, Place, Program};

const NAME: &str = "apache2";
const MODULES: &str = "/usr/lib/apache2/modules";
const START_LIMIT: Duration = Duration::from_secs(10);

/// Where Apache is, if it and its prefork module are installed.
pub(crate) fn installed() -> Option<&'static Path> {
    let path = find(&["/usr/sbin/apache2"])?;
    Path::new(MODULES).join("mod_mpm_prefork.so").is_file().then_some(path)
}

/// A running Apache.
#[derive(Debug)]
pub(crate) struct Apache {
    program: Program,
    error_log: PathBuf,
    /// Octets of status line and header of a reply, as measured.
    pub(crate) header_bytes: u32,
}

impl Apache {
    /// Starts it on `station` with its files in `folder`, and waits until it serves.
    ///
    /// The reply's header is padded to the length wanted, which takes a second start.
    ///
    /// # Errors
    /// When it is missing or does not serve, with the end of what it said.
    pub(crate) fn start(
        serving: &Serving,
        station: u16,
        lab: &Lab,
        place: &Place<'_>,
        folder: &Path,
    ) -> Result<Self, ProgramError> {
        let plain = Self::start_padded(serving, None, station, lab, place, folder)?;
        let field = "X-Padding: \r\n".len() as u32;
        match serving.header_bytes.checked_sub(plain.header_bytes + field) {
            None => Ok(plain),
            Some(room) => {
                drop(plain);
                Self::start_padded(serving, Some(room as usize), station, lab, place, folder)
            }
        }
    }

    fn start_padded(
        serving: &Serving,
        padding: Option<usize>,
        station: u16,
        lab: &Lab,
        place: &Place<'_>,
        folder: &Path,
    ) -> Result<Self, ProgramError> {
        let path = installed().ok_or(ProgramError::Missing {
            program: NAME,
            looked: "/usr/sbin and /usr/lib/apache2/modules",
            package: "apt install apache2-bin",
        })?;
        let configuration = folder.join("apache.conf");
        let error_log = folder.join("apache-error.log");
        prepare(serving, padding, folder, &configuration, place.identity)?;
        let stderr = create(&folder.join("apache-stderr.log"))?;
        let mut command = Command::new(path);
        command.arg("-d").arg(folder).arg("-f").arg(&configuration).arg("-DFOREGROUND").current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
        let not_started = |why: String| ProgramError::NotStarted {
            program: NAME,
            why,
            stderr: [&folder.join("apache-stderr.log"), &error_log].map(|log| last_lines(log, 5)).join("\n"),
        };
        let program = Program::start(&mut command, place).map_err(|error| not_started(error.to_string()))?;
        let mut apache = Self { program, error_log: error_log.clone(), header_bytes: 0 };
        let began = Instant::now();
        let header = loop {
            if let Ok(Some(status)) = apache.program.ended() {
                return Err(not_started(status.to_string()));
            }
            match fetch(serving, station, lab) {
                Ok(header) => break header,
                Err(why) if began.elapsed() > START_LIMIT => {
                    return Err(not_started(format!(
                        "it does not serve its object after {START_LIMIT:?}: {why}"
                    )));
                }
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        apache.header_bytes = header;
        Ok(apache)
    }

    /// What it wrote to its error log, for a run that went wrong.
    pub(crate) fn complaints(&self) -> String {
        last_lines(&self.error_log, 10)
    }

    /// Whether it has ended, which it should not.
    pub(crate) fn ended(&mut self) -> bool {
        !matches!(self.program.ended(), Ok(None))
    }
}

fn create(path: &Path) -> Result<fs::File, ProgramError> {
    fs::File::create(path).map_err(wrong(NAME, "create", path))
}

/// Writes configuration and objects, readable by whom Apache will run as.
fn prepare(
    serving: &Serving,
    padding: Option<usize>,
    folder: &Path,
    configuration: &Path,
    identity: Option<Identity>,
) -> Result<(), ProgramError> {
    let root = folder.join("docroot");
    fs::create_dir_all(&root).map_err(wrong(NAME, "create", &root))?;
    let mut made = vec![folder.to_owned(), root.clone(), configuration.to_owned()];
    for (path, &bytes) in &serving.objects {
        let object = root.join(path.trim_start_matches('/'));
        let mut file = create(&object)?;
        std::io::copy(&mut std::io::repeat(b'a').take(bytes), &mut file)
            .map_err(wrong(NAME, "write", &object))?;
        made.push(object);
    }
    let text = configuration_text(serving, padding, folder);
    fs::write(configuration, text).map_err(wrong(NAME, "write", configuration))?;
    if let Some(Identity { user, group }) = identity {
        for path in made {
            let owned = nix::unistd::chown(&path, Some(user), Some(group));
            owned.map_err(|errno| wrong(NAME, "give away", &path)(errno.into()))?;
        }
    }
    Ok(())
}

/// The whole configuration. Every value is a number, a path we made, or a name we chose.
fn configuration_text(serving: &Serving, padding: Option<usize>, folder: &Path) -> String {
    let Serving { processes, backlog, listen: (address, port), .. } = serving;
    let folder = folder.display();
    let keep_alive_s = serving.keep_alive.as_secs().max(1);
    let requests = serving.requests_per_connection.unwrap_or(0); // 0: any number
    let padding = padding.map_or(String::new(), |length| {
        format!(
            "LoadModule headers_module {MODULES}/mod_headers.so\nHeader set X-Padding \"{}\"\n",
            "x".repeat(length)
        )
    });
    format!(
        "\
LoadModule mpm_prefork_module {MODULES}/mod_mpm_prefork.so
LoadModule authz_core_module {MODULES}/mod_authz_core.so
{padding}ServerName {address}
Listen {address}:{port}
ListenBacklog {backlog}
AcceptFilter http none
ServerTokens Prod
FileETag None
ForceType text/html
KeepAlive On
KeepAliveTimeout {keep_alive_s}
MaxKeepAliveRequests {requests}
StartServers {processes}
MinSpareServers 1
MaxSpareServers {processes}
ServerLimit {processes}
MaxRequestWorkers {processes}
MaxConnectionsPerChild 0
EnableSendfile Off
PidFile \"{folder}/apache.pid\"
DefaultRuntimeDir \"{folder}\"
ErrorLog \"{folder}/apache-error.log\"
LogLevel warn
DocumentRoot \"{folder}/docroot\"
<Directory />
    Options None
    AllowOverride None
    Require all denied
</Directory>
<Directory \"{folder}/docroot\">
    Require all granted
</Directory>
"
    )
}

/// Fetches an object over the station's loopback device; the octets of the reply's header.
pub(super) fn fetch(serving: &Serving, station: u16, lab: &Lab) -> Result<u32, String> {
    let (path, object_bytes) = serving.first().unwrap_or(("/", 0));
    let limit = Duration::from_secs(2);
    let mut stream = lab.connect(station, station, PORT, limit).map_err(|error| error.to_string())?;
    let host = address_of(station);
    write!(stream, "GET {path} HTTP/1.1\r\nUser-Agent: httperf/0.9.0\r\nHost: {host}\r\n\r\n")
        .map_err(|error| error.to_string())?;
    let mut reply = Vec::new();
    let mut part = [0u8; 65_536];
    loop {
        let end = reply.windows(4).position(|w| w == b"\r\n\r\n").map(|at| at + 4);
        if let Some(end) = end
            && reply.len() as u64 >= end as u64 + object_bytes
        {
            return if reply.starts_with(b"HTTP/1.1 200") {
                Ok(end as u32)
            } else {
                Err(String::from_utf8_lossy(&reply[..end]).lines().next().unwrap_or_default().to_owned())
            };
        }
        match stream.read(&mut part) {
            Ok(0) => return Err(format!("the reply ends after {} octets", reply.len())),
            Ok(n) => reply.extend_from_slice(&part[..n]),
            Err(error) => return Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isolation::{Isolation, StationSettings};

    fn serving() -> Serving {
        Serving {
            listen: (address_of(0), PORT),
            objects: [("/oxxxxxxxxxxxx".into(), 1_024), ("/oxxxxxxxxxxxy".into(), 70_000)].into(),
            header_bytes: 259,
            processes: 5,
            backlog: 128,
            keep_alive: Duration::from_secs(15),
            requests_per_connection: Some(100),
        }
    }

    fn start(folder: &Path, serving: &Serving) -> Option<Result<Apache, ProgramError>> {
        if installed().is_none() {
            skipped!("apache2 is not installed");
            return None;
        }
        let settings = StationSettings { mtu: 1500, device_queue: 100, ..Default::default() };
        let lab = Lab::new(1, Isolation::for_this_process(), &settings)
            .inspect_err(|error| skipped!("{error}"))
            .ok()?;
        let station = &lab.stations[0];
        let identity = Identity::for_programs();
        let place = Place {
            network: &station.network,
            user: lab.user.as_ref(),
            identity,
            cores: None,
            nice: 0,
            fixed: None,
        };
        Some(Apache::start(serving, 0, &lab, &place, folder))
    }

    #[test]
    fn it_serves_its_object_with_a_header_of_the_length_wanted() {
        let folder = tempfile::tempdir().unwrap();
        let Some(apache) = start(folder.path(), &serving()) else { return };
        let mut apache = apache.unwrap();
        assert_eq!(apache.header_bytes, 259);
        assert!(!apache.ended(), "{}", apache.complaints());
    }

    #[test]
    fn fault_39_a_failure_shows_what_apache_said() {
        let folder = tempfile::tempdir().unwrap();
        // A directory where the pid file should be: one of many reasons not to start.
        fs::create_dir(folder.path().join("apache.pid")).unwrap();
        let Some(apache) = start(folder.path(), &serving()) else { return };
        let error = apache.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains("apache2 did not start") && error.contains("pid"), "{error}");
    }
}
