//! Programs live in their station and die with us.

use std::io::Read;
use std::process::Stdio;

use super::*;
use crate::isolation::{Isolation, Lab, StationSettings};

fn lab() -> Option<Lab> {
    let settings = StationSettings { mtu: 1500, device_queue: 100, ..Default::default() };
    Lab::new(1, Isolation::for_this_process(), &settings).inspect_err(|error| skipped!("{error}")).ok()
}

fn place(lab: &Lab) -> Place<'_> {
    Place {
        network: &lab.stations[0].network,
        user: lab.user.as_ref(),
        identity: Identity::for_programs(),
        cores: None,
        nice: 0,
        fixed: None,
    }
}

fn output(lab: &Lab, program: &str, arguments: &[&str]) -> (String, Option<i32>) {
    let (mut reader, writer) = io::pipe().unwrap();
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(writer);
    let mut program = Program::start(&mut command, &place(lab)).unwrap();
    drop(command); // it holds the pipe's other end
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    let status = program.keeper.wait().unwrap();
    (text, status.code())
}

#[test]
fn a_program_sees_its_station_and_has_no_privilege() {
    let Some(lab) = lab() else { return };
    let (devices, _) = output(&lab, "/bin/cat", &["/proc/self/net/dev"]);
    assert!(devices.contains("air0") && !devices.contains("eth0"), "{devices}");
    let (status, _) = output(&lab, "/bin/cat", &["/proc/self/status"]);
    let field = |name: &str| status.lines().find(|l| l.starts_with(name)).unwrap_or("").to_owned();
    assert!(field("CapEff:").ends_with("0000000000000000"), "{status}");
    assert!(field("NoNewPrivs:").ends_with('1'));
    assert!(!field("Uid:").contains("\t0"), "runs as root: {status}");
}

#[test]
fn the_exit_status_comes_back() {
    let Some(lab) = lab() else { return };
    assert_eq!(output(&lab, "/bin/true", &[]).1, Some(0));
    assert_eq!(output(&lab, "/bin/false", &[]).1, Some(1));
    let error = Program::start(&mut Command::new("/no/such/program"), &place(&lab)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

/// Processes whose command line contains `mark`.
fn processes(mark: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|e| std::fs::read(e.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(mark)).count()
}

fn gone(mark: &str) -> bool {
    (0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        processes(mark) == 0
    })
}

#[test]
fn fault_01_descendants_die_with_the_program() {
    let Some(lab) = lab() else { return };
    // `timeout` forks `sleep`; the mark is a number nobody else sleeps for.
    let mut command = Command::new("/usr/bin/timeout");
    command.args(["86399.25", "/bin/sleep", "86399.25"]);
    let mut program = Program::start(&mut command, &place(&lab)).unwrap();
    while processes("86399.25") < 2 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    program.kill();
    assert_eq!(processes("86399.25"), 0, "a descendant outlived its program");
}

#[test]
fn fault_01_descendants_die_when_our_thread_does() {
    let Some(lab) = lab() else { return };
    // The death signal is tied to the thread that started the program, so a thread can stand for us.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut command = Command::new("/usr/bin/timeout");
            command.args(["86399.5", "/bin/sleep", "86399.5"]);
            std::mem::forget(Program::start(&mut command, &place(&lab)).unwrap());
            while processes("86399.5") < 2 {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        });
    });
    assert!(gone("86399.5"), "a descendant outlived the thread that started its program");
}
