//! Admission control in real time: futures that wait for a place, and places that give themselves back.
//!
//! Left out: the policy; see [`airperf_http::Admission`].

use crate::socket::ClientSocket;
use airperf_http::{Admission, AdmissionConfig, AdmissionCounts, Verdict};
use airperf_units::Time;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How often replies under way are looked at; a tenth of the shortest transfer worth a place of its own.
const LOOK: Duration = Duration::from_millis(5);

/// The admission control of a proxy.
#[derive(Debug)]
pub(crate) struct Gate {
    began: Instant,
    admission: Option<RefCell<Admission<u64>>>,
    waiting: RefCell<BTreeMap<u64, oneshot::Sender<()>>>,
    next: Cell<u64>,
    /// Replies handed over to the client's kernel and not yet acknowledged.
    leaving: RefCell<Vec<(Place, Rc<ClientSocket>)>>,
}

/// A place; dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Place {
    gate: Rc<Gate>,
    since: Time,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.gate.give_back(self.since);
    }
}

/// A request in the queue; dropping it takes it out.
struct Waiting {
    gate: Rc<Gate>,
    request: u64,
    over: bool,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        self.gate.waiting.borrow_mut().remove(&self.request);
        let gave_up = self.gate.with(|admission| admission.withdraw(self.request));
        if gave_up == Some(false) {
            self.gate.give_back(self.gate.now()); // it got a place at the very moment
        }
    }
}

impl Gate {
    pub(crate) fn new(config: Option<AdmissionConfig>) -> Rc<Self> {
        Rc::new(Self {
            began: Instant::now(),
            admission: config.map(|config| RefCell::new(Admission::new(config))),
            waiting: RefCell::default(),
            next: Cell::new(0),
            leaving: RefCell::default(),
        })
    }

    fn now(&self) -> Time {
        Time::from_ns(self.began.elapsed().as_nanos() as u64)
    }

    fn with<R>(&self, ask: impl FnOnce(&mut Admission<u64>) -> R) -> Option<R> {
        self.admission.as_ref().map(|admission| ask(&mut admission.borrow_mut()))
    }

    /// The configuration, if there is admission control.
    pub(crate) fn config(&self) -> Option<AdmissionConfig> {
        self.with(|admission| *admission.config())
    }

    /// What was done so far; places, transfers going on and requests waiting.
    pub(crate) fn state(&self) -> (AdmissionCounts, u32, u32, usize) {
        let read = |a: &mut Admission<u64>| (a.counts(), a.places(), a.active(), a.waiting());
        self.with(read).unwrap_or_default()
    }

    /// Waits for a place; `None` when the request is refused.
    pub(crate) async fn enter(self: &Rc<Self>) -> Option<Place> {
        let request = self.next.replace(self.next.get() + 1);
        let place = || Some(Place { gate: self.clone(), since: self.now() });
        match self.with(|admission| admission.ask(request)) {
            None | Some(Verdict::Admitted) => return place(),
            Some(Verdict::Refused) => return None,
            Some(Verdict::Deferred) => {}
        }
        let (tell, told) = oneshot::channel();
        self.waiting.borrow_mut().insert(request, tell);
        let mut waiting = Waiting { gate: self.clone(), request, over: false };
        let most = self.config().map_or(Duration::ZERO, |c| Duration::from_nanos(c.wait.as_ns()));
        let admitted = matches!(tokio::time::timeout(most, told).await, Ok(Ok(())));
        waiting.over = true;
        if admitted {
            return place();
        }
        self.waiting.borrow_mut().remove(&request);
        let refused = self.with(|admission| admission.expired(request)) == Some(true);
        if refused { None } else { place() }
    }

    fn give_back(&self, since: Time) {
        let now = self.now();
        self.with(|admission| admission.done(now, since));
        while let Some(request) = self.with(Admission::admit_next).flatten() {
            let tell = self.waiting.borrow_mut().remove(&request);
            let _ = tell.map(|tell| tell.send(())); // if nobody listens, its `Waiting` gives the place back
        }
    }

    /// The reply is in the kernel's hands: the place is given back when the client has it.
    pub(crate) fn leaves(&self, place: Place, socket: Rc<ClientSocket>) {
        if self.admission.is_some() {
            self.leaving.borrow_mut().push((place, socket));
        }
    }

    /// Gives places back as replies are acknowledged; never ends.
    pub(crate) async fn watch_leaving(self: Rc<Self>) {
        loop {
            tokio::time::sleep(LOOK).await;
            let leaving = self.leaving.take().into_iter();
            let (leaving, arrived): (Vec<_>, Vec<_>) = leaving.partition(|(_, s)| s.unacknowledged() > 0);
            self.leaving.borrow_mut().extend(leaving);
            drop(arrived);
        }
    }
}
