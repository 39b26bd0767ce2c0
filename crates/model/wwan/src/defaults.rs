//! Values that the standard leaves to the network or the mobile, each with where it comes from or why it is ours.
//!
//! *Read* marks what was looked up again: in osmo-pcu's sources (revision ed709037, the file is named) or in the text of a
//! standard; what has no such mark is cited from memory of the standard. Left out: anything fitted to a measurement; that
//! belongs to the study that measured.

use airperf_units::Duration;

/// A radio block: a 52-multiframe of 240 ms has twelve (3GPP TS 45.002 §6.3.2.2).
pub const BLOCK: Duration = Duration::from_ms(20);

/// Blocks that may be sent and not yet acknowledged (TS 44.060 §9.0, read: 64 in GPRS, 64 to 1024 in EDGE; osmo-pcu begins
/// with 64 there, `gprs_pcu.c` ws_base, read).
pub const WINDOW: u32 = 64;

/// Blocks after which the receiver is asked for a report (osmo-pcu, POLL_ACK_AFTER_FRAMES in `tbf_dl.cpp` and SEND_ACK_AFTER_FRAMES in
/// `tbf_ul.cpp`, read).
pub const REPORT_EVERY: u32 = 20;

/// From the end of the block that asks for a report until the report has come: it begins 13 TDMA frames, three blocks,
/// after that block began (TS 44.060 table 10.4.5.1, RRBP 00; osmo-pcu `encoding.cpp`, read) and lasts one.
pub const REPORT_DELAY: Duration = Duration::from_ms(60);

/// Setting up a downward block flow when there is none upward: half a 51-multiframe of 235 ms until there is room for
/// the assignment on the common channel (TS 45.002 §7), and 200 ms in which the mobile gets ready (osmo-pcu X2002, `gprs_pcu.c`, read).
pub const DOWN_ACCESS: Duration = Duration::from_ms(320);

/// The same when there is an upward one: the assignment goes over it and is acknowledged 13 frames later (osmo-pcu
/// `doc/tbf.txt`, read; TS 44.060 table 10.4.5.1).
pub const DOWN_ACCESS_LINKED: Duration = Duration::from_ms(80);

/// Setting up an upward block flow by random access: two tenths of a second are what one-phase access takes at the least
/// (some frames for the burst, half a 51-multiframe for the assignment, its starting time). Ours: networks differ, and
/// loaded ones take much longer.
pub const UP_ACCESS: Duration = Duration::from_ms(220);

/// The same when there is a downward one: the mobile asks in its next report there, which is due after 100 ms at most
/// (osmo-pcu's idle-ack delay, `gprs_pcu.c` llc_idle_ack_csec, read), and is answered 80 ms later.
pub const UP_ACCESS_LINKED: Duration = Duration::from_ms(180);

/// How long a downward block flow is kept when its queue is empty (osmo-pcu X2031, `gprs_pcu.c`, read).
pub const DOWN_KEEP: Duration = Duration::from_ms(2000);

/// An upward one is not kept: it counts down its last blocks and is released (TS 44.060 §9.3.1.1, without the extended
/// uplink block flow of later releases).
pub const UP_KEEP: Duration = Duration::ZERO;

/// Blocks from which an upward block flow counts down; what comes later waits for the next one (TS 44.060 §9.3.1.1,
/// BS_CV_MAX 15 at the most). With several slots the countdown is of turns of all slots (annex F, read), so up to as many
/// times more blocks; here it is of blocks whatever the slots.
pub const COUNTDOWN_BLOCKS: u32 = 16;

/// Octets around an IP packet: LLC's address, control and check sequence (TS 44.064 §6.3: 1 + 2 + 3 for an
/// unacknowledged frame) and SNDCP's header (TS 44.065 §7.2: 4 for an unacknowledged one).
pub const OVERHEAD_BYTES: u32 = 10;

/// The octet that says where in a block a frame ends (TS 44.060 §10.4.14).
pub const LENGTH_INDICATOR_BYTES: u32 = 1;

/// Share of blocks reported missing above which a slower scheme is taken (osmo-pcu `gprs_pcu.c` cs_adj_upper_limit, read).
pub const SLOWER_ABOVE: f64 = 0.33;

/// Share of blocks reported missing below which a faster scheme is taken (osmo-pcu `gprs_pcu.c` cs_adj_lower_limit, read).
pub const FASTER_BELOW: f64 = 0.10;

/// A faster scheme is taken only after this long without a report above [`FASTER_BELOW`], and as long after the last
/// change (osmo-pcu `gprs_ms.c` ms_update_error_rate, read).
pub const FASTER_AFTER: Duration = Duration::from_ms(1000);

/// Share of groups that may stay damaged where the number of repair blocks follows the loss. Ours: a packet of 1500 octets
/// lies in six or seven groups of eight blocks of CS-2, so fewer than one in a hundred is lost without ARQ.
pub const FEC_TARGET: f64 = 0.001;

/// Blocks over which the share of blocks lost is remembered. Ours: five reports, which tells 10% from 20%.
pub const ERROR_MEMORY_BLOCKS: f64 = 100.0;

/// How many dB above the lower end of its band a scheme loses a tenth of its blocks; at the lower end it loses a third,
/// which is where osmo-pcu gives it up. Ours: link curves of these codes over fading channels fall about this fast.
pub const BAND_DB: f64 = 2.0;
