//! Whole simulated runs, in one program: what each of several would compile again takes longer than its tests.

mod access;
mod behaviour;
mod browsers;
mod flows;
mod gprs;
mod records;
mod remedies;
mod sessions;
mod wired;
