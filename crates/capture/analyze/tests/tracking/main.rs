//! What a tracker tells of connections and exchanges, shown whole conversations.

mod differential;
mod flows;
mod streams;
mod talk;
