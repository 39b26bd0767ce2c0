//! Layers between this network namespace and a command: each a pair of TUN devices, the inner one in a fresh namespace.
//!
//! The outer device of the first layer is made in the namespace of the caller, the *ground*, that of every further layer
//! in the namespace of the one before. Addresses are from 100.64.0.0/10 (RFC 6598), which is for networks between a
//! provider and its customers: a layer has a block of them, a sixteenth of the block it is made in, so that layers within
//! layers need no more than one route each. In its block, the outer end is host 1 and station `i` of the link is host
//! `i + 1`.
//!
//! A ground whose only ways out are layers of ours is part of a lab: it forwards. On any other, packets that come out of
//! a layer reach that machine's own addresses and are forwarded nowhere (`ip-sysctl.rst`, `conf/interface/forwarding`).
//!
//! Left out: address translation, IPv6, machines without TUN.

use std::net::Ipv4Addr;

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use nix::sched::CloneFlags;

use super::{
    Device, DeviceKind, INTERFACE, INTERFACE_INDEX, Lab, LabError, MOST_STATIONS, PREFIX, RouteMetrics,
    SUBNET, StationSettings, Step, drops_of, interface, netlink, path, request, sockaddr, write,
};

/// The space of all layers: RFC 6598 §7.
const SPACE: Block = Block { first: u32::from_be_bytes([100, 64, 0, 0]), prefix: 10 };
/// The addresses of a lab, which a layer with several stations has.
const LAB: Block = Block { first: u32::from_be_bytes([SUBNET[0], SUBNET[1], SUBNET[2], 0]), prefix: PREFIX };
/// Bits by which a block within a block is longer.
const STEP: u8 = 4;
/// Layers that fit next to each other.
const PLACES: u32 = 1 << STEP;
/// Packets a device holds between the kernel and the model's queue. A sender that is faster than any link fills it in
/// milliseconds; this bridges the time in which the medium is not looking.
const DEVICE_QUEUE: u32 = 1000;

/// A block of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// The first address.
    pub(crate) first: u32,
    /// Length of the prefix.
    pub(crate) prefix: u8,
}

impl Block {
    fn mask(self) -> u32 {
        u32::MAX << (32 - self.prefix)
    }

    fn holds(self, address: u32) -> bool {
        address & self.mask() == self.first
    }

    /// A sixteenth of it; `None` for one that is too small to be divided.
    fn part(self, place: u32) -> Option<Self> {
        let prefix = self.prefix + STEP;
        (prefix <= 30).then(|| Self { first: self.first | place << (32 - prefix), prefix })
    }

    /// The address of the outer end.
    pub(crate) fn outer(self) -> Ipv4Addr {
        Ipv4Addr::from(self.first + 1)
    }

    /// The address of a station of the link, of which the first is at the outer end.
    pub(crate) fn station(self, station: u16) -> Ipv4Addr {
        Ipv4Addr::from(self.first + 1 + u32::from(station))
    }

    /// The address of the command's side, station 1 of the link.
    pub(crate) fn inner(self) -> Ipv4Addr {
        self.station(1)
    }
}

/// The namespace that the first layer is made in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ground {
    /// The block that layers here are parts of.
    block: Block,
    /// Whether the only ways out are layers.
    enclosed: bool,
    taken: Vec<u32>,
    /// Whether the addresses of a lab are in use.
    lab_taken: bool,
}

impl Ground {
    /// The namespace of this process.
    ///
    /// # Errors
    /// When its interfaces cannot be listed.
    pub(crate) fn here() -> Result<Self, LabError> {
        let list =
            getifaddrs().map_err(|errno| LabError::System { what: "list the network interfaces", errno })?;
        let mut ground = Self { block: SPACE, enclosed: true, taken: Vec::new(), lab_taken: false };
        for found in list {
            let address = found.address.as_ref().and_then(|a| a.as_sockaddr_in()).map(|a| u32::from(a.ip()));
            let mask = found.netmask.as_ref().and_then(|a| a.as_sockaddr_in()).map(|a| u32::from(a.ip()));
            let ours = found.interface_name.strip_prefix("air").is_some_and(|n| n.parse::<u32>().is_ok());
            let is_way_out = found.flags.contains(InterfaceFlags::IFF_UP)
                && !found.flags.contains(InterfaceFlags::IFF_LOOPBACK);
            ground.enclosed &= ours || !is_way_out;
            ground.lab_taken |= address.is_some_and(|address| LAB.holds(address));
            let (Some(address), Some(mask)) = (address.filter(|&a| SPACE.holds(a)), mask) else { continue };
            if found.interface_name == INTERFACE {
                ground.block = Block { first: address & mask, prefix: mask.leading_ones() as u8 };
            } else if ours {
                ground.taken.push(address);
            }
        }
        Ok(ground)
    }

    /// Whether packets that leave a layer here can only go on through another, or nowhere.
    pub(crate) fn is_enclosed(&self) -> bool {
        self.enclosed
    }

    /// Whether this is the inside of a layer.
    pub(crate) fn is_inside(&self) -> bool {
        self.block != SPACE
    }

    /// The places here that no layer has, each with its block. The first sixteenth is for the addresses of the block's own
    /// layer.
    fn free(&self) -> impl Iterator<Item = (u32, Block)> + '_ {
        (1..PLACES)
            .filter_map(|place| Some((place, self.block.part(place)?)))
            .filter(|(_, block)| !self.taken.iter().any(|&address| block.holds(address)))
    }
}

/// One layer as it was made.
#[derive(Debug)]
pub(crate) struct Hop {
    /// Our ends of the devices, in the order of the link's stations.
    pub(crate) devices: Vec<Device>,
    /// Its addresses.
    pub(crate) block: Block,
    /// The name of the outer device.
    pub(crate) outer: String,
}

impl Lab {
    /// Makes layers from here inwards, with these MTUs; a command runs in the network of the last station. The settings
    /// given are those of stations inside, and of the routes to and from them; what is around keeps its own.
    ///
    /// # Errors
    /// [`LabError`], with the step that failed and what to do.
    pub(crate) fn chain(
        ground: &Ground,
        mtus: &[u32],
        settings: Option<&StationSettings>,
    ) -> Result<(Self, Vec<Hop>), LabError> {
        let mut refused = LabError::TooManyLayers;
        for (place, block) in ground.free() {
            let Some(blocks) = blocks(block, mtus.len()) else { break };
            let mut steps = Vec::new();
            for (number, (&block, &mtu)) in blocks.iter().zip(mtus).enumerate() {
                let enclosed = number > 0 || ground.enclosed;
                steps.extend(layer(if number == 0 { place } else { 1 }, block, mtu, enclosed, settings));
            }
            let (lab, devices) = match Self::carry_out(&steps, mtus.len() as u16) {
                // Somebody else was faster.
                Err(LabError::Refused { step, errno: nix::errno::Errno::EBUSY }) => {
                    refused = LabError::Refused { step, errno: nix::errno::Errno::EBUSY };
                    continue;
                }
                made => made?,
            };
            let mut devices = devices.into_iter();
            let mut device = |address| {
                let fd = devices.next().ok_or(LabError::KeeperDied)?;
                Ok::<_, LabError>(Device { fd, kind: DeviceKind::Tun, address })
            };
            let hops = blocks.iter().enumerate().map(|(number, &block)| {
                let outer = format!("air{}", if number == 0 { place } else { 1 });
                Ok(Hop { devices: vec![device(block.outer())?, device(block.inner())?], block, outer })
            });
            let hops = hops.collect::<Result<_, LabError>>()?;
            return Ok((lab, hops));
        }
        Err(refused)
    }

    /// Makes one layer for a link of `count` stations: the lab's station 0 is this namespace, a command runs in the network
    /// of station 1, and the others have the settings given.
    ///
    /// # Errors
    /// [`LabError`], with the step that failed and what to do.
    pub(crate) fn star(
        ground: &Ground,
        count: u16,
        mtu: u32,
        settings: &StationSettings,
    ) -> Result<(Self, Hop), LabError> {
        if count > MOST_STATIONS {
            return Err(LabError::TooManyStations(count));
        }
        let place = ground.free().next().map(|(place, _)| place).filter(|_| !ground.lab_taken);
        let place = place.ok_or(LabError::TooManyLayers)?;
        let mut steps = vec![Step::SendNamespace { path: path("/proc/self/ns/net"), network: true }];
        steps.extend(outer(place, LAB, mtu, ground.enclosed));
        for station in 1..count {
            steps.extend(inner(LAB, station, mtu, Some(settings).filter(|_| station > 1)));
        }
        let (lab, devices) = Self::carry_out(&steps, count)?;
        let device = |(station, fd)| Device { fd, kind: DeviceKind::Tun, address: LAB.station(station) };
        let devices = (0..).zip(devices).map(device).collect();
        Ok((lab, Hop { devices, block: LAB, outer: format!("air{place}") }))
    }

    /// Packets that the kernel dropped at the outer device, of this name, and the inner device of a layer because they were
    /// full; `None` when not known. `around` is the station around the layer, if it is not this namespace.
    pub(crate) fn hop_drops(&self, around: Option<u16>, outer: &str, inner: u16) -> [Option<u64>; 2] {
        let table = match around {
            None => std::fs::read_to_string("/proc/thread-self/net/dev").ok(),
            Some(before) => self
                .socket(before)
                .ok()
                .and_then(|_| std::fs::read_to_string(format!("/proc/{}/net/dev", self.keeper)).ok()),
        };
        [table.and_then(|table| drops_of(&table, outer)), self.device_drops(inner)]
    }
}

/// The blocks of layers within each other.
fn blocks(first: Block, count: usize) -> Option<Vec<Block>> {
    let next = |block: &Option<Block>| Some(block.and_then(|block| block.part(1)));
    std::iter::successors(Some(Some(first)), next).take(count).collect()
}

/// The steps that make one layer: the outer device here, then a namespace with the inner one.
fn layer(
    place: u32,
    block: Block,
    mtu: u32,
    enclosed: bool,
    settings: Option<&StationSettings>,
) -> Vec<Step> {
    let mut steps = outer(place, block, mtu, enclosed);
    if let Some(settings) = settings {
        let (subnet, index) = (Ipv4Addr::from(block.first), INTERFACE_INDEX + place);
        let route = netlink::replace_route(subnet, block.prefix, block.outer(), index, settings.metrics);
        steps.push(Step::Netlink { message: route, what: "set the metrics of the route to the layer" });
    }
    steps.extend(inner(block, 1, mtu, settings));
    steps
}

/// The steps that make the outer device of a layer here.
fn outer(place: u32, block: Block, mtu: u32, enclosed: bool) -> Vec<Step> {
    let name = format!("air{place}");
    let mut steps = device(&name, INTERFACE_INDEX + place, block.outer(), block, mtu);
    let conf = |what: &str| format!("/proc/sys/net/ipv4/conf/{name}/{what}");
    if enclosed {
        steps.push(write("/proc/sys/net/ipv4/ip_forward", "1", true));
    } else {
        steps.push(write(&conf("forwarding"), "0", true));
    }
    steps.push(write(&format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1", false));
    steps.push(interface_up(&name));
    steps
}

/// The steps that make a namespace for a station of a layer, with its device.
fn inner(block: Block, station: u16, mtu: u32, settings: Option<&StationSettings>) -> Vec<Step> {
    let mut steps = vec![Step::Unshare(CloneFlags::CLONE_NEWNET)];
    for interfaces in ["all", "default"] {
        steps.push(write(&format!("/proc/sys/net/ipv6/conf/{interfaces}/disable_ipv6"), "1", false));
    }
    // No connection learns from an earlier one.
    steps.push(write("/proc/sys/net/ipv4/tcp_no_metrics_save", "1", false));
    for (name, value) in settings.map_or(&[][..], |settings| &settings.sysctls) {
        steps.push(write(&format!("/proc/sys/net/{name}"), value, false));
    }
    let address = block.station(station);
    steps.extend(device(INTERFACE, INTERFACE_INDEX, address, block, mtu));
    steps.push(interface_up("lo"));
    steps.push(interface_up(INTERFACE));
    let nowhere = Ipv4Addr::UNSPECIFIED;
    let metrics = settings.map_or(RouteMetrics::default(), |settings| settings.metrics);
    let route = netlink::replace_route(nowhere, 0, address, INTERFACE_INDEX, metrics);
    steps.push(Step::Netlink { message: route, what: "set the default route" });
    steps.push(Step::SendNamespace { path: path("/proc/self/ns/net"), network: true });
    steps
}

/// The steps that make a device that is not up yet.
fn device(name: &str, index: u32, address: Ipv4Addr, block: Block, mtu: u32) -> Vec<Step> {
    let mut tun = request(name);
    tun.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as i16;
    let mask = sockaddr(Ipv4Addr::from(block.mask()));
    let queue = netlink::set_queue(index, DEVICE_QUEUE);
    vec![
        Step::Tun { request: tun, index },
        interface("set the MTU", libc::SIOCSIFMTU, name, |r| r.ifr_ifru.ifru_mtu = mtu as i32),
        Step::Netlink { message: queue, what: "set the length of the device's queue" },
        interface("set an address", libc::SIOCSIFADDR, name, |r| r.ifr_ifru.ifru_addr = sockaddr(address)),
        interface("set the block's mask", libc::SIOCSIFNETMASK, name, |r| r.ifr_ifru.ifru_netmask = mask),
    ]
}

fn interface_up(name: &str) -> Step {
    let up = |r: &mut libc::ifreq| r.ifr_ifru.ifru_flags = libc::IFF_UP as i16;
    interface("bring the interface up", libc::SIOCSIFFLAGS, name, up)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_lie_within_each_other_and_five_fit() {
        let first = SPACE.part(3).unwrap();
        assert_eq!(first.outer(), Ipv4Addr::new(100, 76, 0, 1));
        let all = blocks(first, 5).unwrap();
        assert!(all.windows(2).all(|pair| pair[0].holds(pair[1].first) && pair[0].first != pair[1].first));
        assert_eq!(all[4].prefix, 30);
        assert_eq!(blocks(first, 6), None);
    }

    #[test]
    fn a_place_that_has_a_layer_is_not_taken_again() {
        let taken = vec![u32::from(SPACE.part(1).unwrap().outer())];
        let ground = Ground { block: SPACE, enclosed: true, taken, lab_taken: false };
        assert_eq!(ground.free().next().map(|(place, _)| place), Some(2));
        assert_eq!(ground.free().count(), 14);
    }
}
