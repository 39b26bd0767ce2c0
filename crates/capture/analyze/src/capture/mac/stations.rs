//! What each 802.11 transmitter did.
//!
//! Frames without a transmitter (ACK, CTS) count for nobody, but the answers that a station's frames ask for count as
//! air it used. Memory is bounded: stations past [`MOST_STATIONS`] have no row, and their frames are counted.

use std::net::IpAddr;

use ahash::AHashMap;
use airperf_record::MacAddress;
use airperf_record::capture::StationRow;

use super::Heard;

const MOST_STATIONS: usize = 16 * 1024;
/// IP addresses of one station.
const MOST_ADDRESSES: usize = 8;

#[derive(Clone, Debug, Default)]
struct Station {
    frames: u64,
    data: u64,
    retries: u64,
    unicast: u64,
    acknowledged: u64,
    bytes: u64,
    airtime_ns: u64,
    used_ns: u64,
    signal_sum: i64,
    signals: u64,
    addresses: Vec<IpAddr>,
}

/// All stations; see the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stations(AHashMap<MacAddress, Station>);

impl Stations {
    /// Counts a good frame whose answer takes `answer_ns` with what goes before it; false where its station has no room.
    pub(crate) fn sent(&mut self, heard: &Heard<'_>, answer_ns: u64) -> bool {
        let Some(transmitter) = heard.transmitter else { return true };
        if self.0.len() >= MOST_STATIONS && !self.0.contains_key(&transmitter) {
            return false;
        }
        let station = self.0.entry(transmitter).or_default();
        station.frames += 1;
        station.retries += u64::from(heard.retry);
        station.bytes += u64::from(heard.bytes);
        station.data += u64::from(heard.kind.is_data());
        station.unicast += u64::from(heard.asks_for_ack);
        if let Some(airtime) = heard.airtime {
            if heard.kind.is_data() || heard.kind.is_management() {
                station.airtime_ns += airtime.total_ns();
            }
            station.used_ns += airtime.total_ns() + if heard.asks_for_ack { answer_ns } else { 0 };
        }
        if let Some(signal) = heard.signal_dbm {
            station.signal_sum += i64::from(signal);
            station.signals += 1;
        }
        if let Some(address) = heard.address
            && !station.addresses.contains(&address)
            && station.addresses.len() < MOST_ADDRESSES
        {
            station.addresses.push(address);
        }
        true
    }

    /// So many frames of a station were acknowledged.
    pub(crate) fn acknowledged(&mut self, station: MacAddress, frames: u64) {
        if let Some(station) = self.0.get_mut(&station) {
            station.acknowledged += frames;
        }
    }

    /// Rows in order of address, over `elapsed_ns`.
    pub(crate) fn rows(&self, elapsed_ns: u64) -> Vec<StationRow> {
        let row = |(address, station): (&MacAddress, &Station)| {
            let mut addresses = station.addresses.clone();
            addresses.sort_unstable();
            let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            StationRow {
                station: *address,
                addresses: addresses.join(" "),
                frames: station.frames,
                data_frames: station.data,
                retries: station.retries,
                unicast: station.unicast,
                acknowledged: station.acknowledged,
                bytes: station.bytes,
                airtime_ns: station.airtime_ns,
                utilisation: station.used_ns as f64 / elapsed_ns.max(1) as f64,
                signal_dbm: (station.signals > 0).then(|| station.signal_sum as f64 / station.signals as f64),
            }
        };
        let mut rows: Vec<StationRow> = self.0.iter().map(row).collect();
        rows.sort_unstable_by_key(|row| row.station);
        rows
    }
}
