//! The lab on this machine: packets leave one namespace and enter another through our hands.

use std::io::{Read, Write};
use std::time::Duration;

use super::*;

/// Says loudly that a test could not run here, and why.
macro_rules! lab_or_skip {
    ($count:expr, $isolation:expr) => {
        lab_or_skip!($count, $isolation, DeviceKind::Tun)
    };
    ($count:expr, $isolation:expr, $device:expr) => {
        match Lab::new(
            $count,
            $isolation,
            &StationSettings { device: $device, mtu: 1500, device_queue: 100, ..Default::default() },
        ) {
            Ok(lab) => lab,
            Err(error) => {
                skipped!("{error}");
                return;
            }
        }
    };
}

fn device(lab: &Lab, station: usize) -> &Device {
    lab.stations[station].device.as_ref().expect("not taken")
}

#[test]
fn a_full_device_counts_what_it_drops() {
    let mut lab = lab_or_skip!(2, Isolation::for_this_process());
    let devices = lab.take_devices();
    assert_eq!(lab.device_drops(0), Some(0));
    use nix::sys::socket::{SockaddrIn, connect};
    let sockets: Vec<OwnedFd> = (0..150).map(|_| lab.socket(0).expect("a socket")).collect();
    for socket in &sockets {
        let flags = nix::fcntl::FcntlArg::F_SETFL(nix::fcntl::OFlag::O_NONBLOCK);
        nix::fcntl::fcntl(socket, flags).expect("a flag");
        let _ = connect(socket.as_raw_fd(), &SockaddrIn::new(10, 77, 0, 2, 8080)); // a SYN each
    }
    assert_eq!(lab.device_drops(0), Some(50));
    drop(devices);
}

#[test]
fn addresses_and_stations_are_inverse() {
    for station in 0..MOST_STATIONS {
        assert_eq!(station_of(address_of(station).octets(), MOST_STATIONS), Some(station));
    }
    assert_eq!(station_of([10, 77, 0, 0], 3), None);
    assert_eq!(station_of([10, 77, 0, 4], 3), None);
    assert_eq!(station_of([10, 78, 0, 1], 3), None);
}

fn a_syn_comes_out_of_the_right_device(isolation: Isolation, kind: DeviceKind) {
    let lab = lab_or_skip!(2, isolation, kind);
    assert_eq!(lab.stations.len(), 2);
    let error = lab.connect(0, 1, 8080, Duration::from_millis(50)).expect_err("nobody answers");
    assert!(error.to_string().contains("connect"), "{error}");
    let mut packet = [0u8; 2048];
    let got = device(&lab, 0).read(&mut packet).expect("the SYN");
    assert_eq!(packet[0] >> 4, 4, "the first packet of a lab is the workload's, not the kernel's own");
    assert_eq!(&packet[12..20], &[10, 77, 0, 1, 10, 77, 0, 2]);
    assert!(got >= 40);
    assert_eq!(device(&lab, 1).read(&mut packet), Err(Errno::EAGAIN));
}

#[test]
fn a_syn_comes_out_as_root() {
    if !nix::unistd::geteuid().is_root() {
        skipped!("needs root");
        return;
    }
    a_syn_comes_out_of_the_right_device(Isolation::Privileged, DeviceKind::Tun);
}

#[test]
fn a_syn_comes_out_in_a_user_namespace() {
    a_syn_comes_out_of_the_right_device(Isolation::UserNamespace, DeviceKind::Tun);
    a_syn_comes_out_of_the_right_device(Isolation::UserNamespace, DeviceKind::Veth);
}

#[test]
fn fault_39_without_tun_a_packet_crosses_between_veth_pairs() {
    let mut lab = lab_or_skip!(2, Isolation::for_this_process(), DeviceKind::Veth);
    let devices = lab.take_devices();
    assert!(lab.connect(0, 1, 8080, Duration::from_millis(50)).is_err());
    let mut packet = [0u8; 2048];
    let got = devices[0].read(&mut packet).expect("the SYN");
    assert_eq!(&packet[12..20], &[10, 77, 0, 1, 10, 77, 0, 2]);
    assert!(devices[1].write(&packet[..got]));
    // Nobody listens there: a RST comes back at once, if the checksum of the SYN was whole.
    std::thread::sleep(Duration::from_millis(20));
    let got = devices[1].read(&mut packet).expect("the RST");
    assert_eq!((got, packet[33] & 0x04), (40, 0x04), "no RST: {:?}", &packet[..got]);
    assert_eq!(devices[1].read(&mut packet), Err(Errno::EAGAIN));
}

#[test]
fn a_station_talks_to_itself_without_a_packet_on_the_air() {
    let lab = lab_or_skip!(1, Isolation::for_this_process());
    let listener = lab.socket(0).expect("a socket");
    use nix::sys::socket::{Backlog, SockaddrIn, bind, listen};
    bind(listener.as_raw_fd(), &SockaddrIn::new(10, 77, 0, 1, 8080)).expect("bind");
    listen(&listener, Backlog::new(8).unwrap()).expect("listen");
    let listener = std::net::TcpListener::from(listener);
    let mut client = lab.connect(0, 0, 8080, Duration::from_secs(1)).expect("connect");
    let (mut server, _) = listener.accept().expect("accept");
    client.write_all(b"hello").expect("write");
    let mut bytes = [0u8; 5];
    server.read_exact(&mut bytes).expect("read");
    let mut packet = [0u8; 2048];
    assert_eq!(device(&lab, 0).read(&mut packet), Err(Errno::EAGAIN));
}
