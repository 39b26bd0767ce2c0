//! MAC addresses of stations that have none of their own.
//!
//! Locally administered (IEEE 802-2014 §8.4): the second lowest bit of the first octet is set, so they
//! can never be a real card's. `02:41:50` is "AP" behind that bit.

/// A 48-bit MAC address.
pub type Mac = [u8; 6];

/// Every station.
pub const BROADCAST: Mac = [0xff; 6];
/// The cell of all stations of an ad hoc network.
pub const IBSS: Mac = [0x02, 0x41, 0x50, 0xff, 0xff, 0xff];

/// The address of the station with this id: `02:41:50:00` and the id plus one, so that it reads like the
/// last part of the station's IP address in small networks.
pub const fn station_mac(station: u16) -> Mac {
    let number = (station as u32 + 1).to_be_bytes();
    [0x02, 0x41, 0x50, number[1], number[2], number[3]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_local_single_and_distinct() {
        for station in [0, 1, 254, 255, u16::MAX] {
            let mac = station_mac(station);
            assert_eq!(mac[0] & 0b11, 0b10, "locally administered, one station");
            assert_ne!(mac, IBSS);
        }
        assert_eq!(station_mac(0), [2, 0x41, 0x50, 0, 0, 1]);
        assert_eq!(station_mac(u16::MAX), [2, 0x41, 0x50, 1, 0, 0]);
    }
}
