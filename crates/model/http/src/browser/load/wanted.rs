//! Objects that were found and are not asked for yet, in order. Left out: which connection takes one.

use std::collections::VecDeque;

/// Objects, each with its server, a place among the page's hosts. A round looks at each once: [`Self::pop`], and
/// [`Self::put_back`] for what has to wait on, which leaves the order as it was.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    queue: VecDeque<(u32, u32)>,
    servers: Vec<Server>,
}

/// What is wanted of one server.
#[derive(Clone, Copy, Debug, Default)]
struct Server {
    objects: u32,
    /// Put back in this round.
    put_back: u32,
    /// Nothing more of it has a way in this round.
    is_full: bool,
}

impl Wanted {
    pub(super) fn new(servers: usize) -> Self {
        Self { queue: VecDeque::new(), servers: vec![Server::default(); servers] }
    }

    /// Whether anything is wanted of a server.
    pub(super) fn has(&self, server: u32) -> bool {
        self.servers[server as usize].objects > 0
    }

    /// The objects of a server.
    pub(super) fn of(&self, server: u32) -> impl Iterator<Item = u32> {
        self.queue.iter().filter(move |one| one.1 == server).map(|one| one.0)
    }

    pub(super) fn push(&mut self, object: u32, server: u32) {
        self.queue.push_back((object, server));
        self.servers[server as usize].objects += 1;
    }

    /// Puts an object before all others, unless it is there.
    pub(super) fn push_first(&mut self, object: u32, server: u32) {
        if !self.queue.contains(&(object, server)) {
            self.queue.push_front((object, server));
            self.servers[server as usize].objects += 1;
        }
    }

    pub(super) fn remove(&mut self, object: u32) {
        if let Some(place) = self.queue.iter().position(|one| one.0 == object)
            && let Some((_, server)) = self.queue.remove(place)
        {
            self.servers[server as usize].objects -= 1;
        }
    }

    /// Begins a round; how many there are.
    pub(super) fn begin_round(&mut self) -> usize {
        for server in &mut self.servers {
            (server.put_back, server.is_full) = (0, false);
        }
        self.queue.len()
    }

    /// Takes the first, with its server.
    pub(super) fn pop(&mut self) -> Option<(u32, u32)> {
        let first = self.queue.pop_front()?;
        self.servers[first.1 as usize].objects -= 1;
        Some(first)
    }

    /// Puts an object of this round behind all others.
    pub(super) fn put_back(&mut self, object: u32, server: u32) {
        self.push(object, server);
        self.servers[server as usize].put_back += 1;
    }

    /// How many of a server's objects were put back in this round.
    pub(super) fn waiting(&self, server: u32) -> usize {
        self.servers[server as usize].put_back as usize
    }

    /// Whether nothing more of a server has a way in this round.
    pub(super) fn is_full(&self, server: u32) -> bool {
        self.servers[server as usize].is_full
    }

    pub(super) fn set_full(&mut self, server: u32) {
        self.servers[server as usize].is_full = true;
    }
}
