//! Coding schemes: how many octets a radio block carries, and how well it is protected.
//!
//! Payload octets are those for LLC frames, without the RLC/MAC header: 3GPP TS 44.060 table 10.2.1 (CS-1 to CS-4) and
//! §10.0a (MCS-1 to MCS-9), as osmo-pcu has them. Rates are those of a full block with its header, as everybody names
//! the schemes. C/I bands are osmo-pcu's defaults for choosing a scheme by link quality. Octets and bands were read in its
//! `coding_scheme.c` and `gprs_pcu.c` (revision ed709037).
//!
//! Left out: families of MCS and resegmentation between them: a block is repeated as it was first sent.

use airperf_units::Rate;

/// Which coding schemes there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Family {
    /// GPRS: CS-1 to CS-4, block sequence numbers modulo 128 (TS 44.060 §9.1.1).
    #[default]
    Gprs,
    /// EDGE: MCS-1 to MCS-9, block sequence numbers modulo 2048.
    Edge,
}

/// A coding scheme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scheme {
    /// Its name, as `CS-2`.
    pub name: &'static str,
    /// Octets of LLC frames in an RLC block.
    pub payload_bytes: u32,
    /// RLC blocks in a radio block.
    pub blocks: u8,
    /// The rate of a time slot.
    pub rate: Rate,
    /// The C/I in dB at which a network begins to use it.
    pub from_db: f64,
}

const fn scheme(name: &'static str, payload_bytes: u32, blocks: u8, bps: u64, from_db: f64) -> Scheme {
    Scheme { name, payload_bytes, blocks, rate: Rate::bps(bps), from_db }
}

/// CS-1 has no lower end; 3 dB below CS-2, as CS-3 is above it, is ours.
const GPRS: [Scheme; 4] = [
    scheme("CS-1", 20, 1, 9_050, 2.0),
    scheme("CS-2", 30, 1, 13_400, 5.0),
    scheme("CS-3", 36, 1, 15_600, 7.0),
    scheme("CS-4", 50, 1, 21_400, 12.0),
];

const EDGE: [Scheme; 9] = [
    scheme("MCS-1", 22, 1, 8_800, 2.0),
    scheme("MCS-2", 28, 1, 11_200, 5.0),
    scheme("MCS-3", 37, 1, 14_800, 7.0),
    scheme("MCS-4", 44, 1, 17_600, 12.0),
    scheme("MCS-5", 56, 1, 22_400, 14.0),
    scheme("MCS-6", 74, 1, 29_600, 16.0),
    scheme("MCS-7", 56, 2, 44_800, 17.0),
    scheme("MCS-8", 68, 2, 54_400, 19.0),
    scheme("MCS-9", 74, 2, 59_200, 23.0),
];

impl Family {
    /// Its schemes, the best protected first.
    pub const fn schemes(self) -> &'static [Scheme] {
        match self {
            Self::Gprs => &GPRS,
            Self::Edge => &EDGE,
        }
    }

    /// Block sequence numbers are counted modulo this.
    pub(crate) const fn sequence_space(self) -> u32 {
        match self {
            Self::Gprs => 128,
            Self::Edge => 2048,
        }
    }

    /// The place of the scheme of this name.
    pub fn scheme(self, name: &str) -> Option<u8> {
        self.schemes().iter().position(|scheme| scheme.name == name).map(|place| place as u8)
    }
}
