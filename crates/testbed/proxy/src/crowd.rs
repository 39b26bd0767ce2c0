//! Clients side by side: so many at once, told when the end has come, waited for a while then.
//!
//! Left out: what is done for one of them.

use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

/// How often whoever waits for the end looks.
const LOOK: Duration = Duration::from_millis(250);

/// The clients being served.
#[derive(Debug)]
pub(crate) struct Crowd {
    most: u32,
    open: Cell<u32>,
    /// Told when a client has been served.
    freed: Notify,
}

impl Crowd {
    pub(crate) fn new(most: u32) -> Rc<Self> {
        Rc::new(Self { most, open: Cell::new(0), freed: Notify::new() })
    }

    /// How many there are now.
    pub(crate) fn open(&self) -> u32 {
        self.open.get()
    }

    /// Takes clients and serves each; further ones than the most wait in the kernel. Never ends.
    pub(crate) async fn take<S, F>(
        self: Rc<Self>,
        listener: TcpListener,
        ending: watch::Receiver<bool>,
        serve: S,
    ) where
        S: Fn(TcpStream, watch::Receiver<bool>) -> F,
        F: Future<Output = ()> + 'static,
    {
        loop {
            while self.open.get() >= self.most {
                self.freed.notified().await;
            }
            match listener.accept().await {
                Ok((stream, _)) => {
                    self.open.set(self.open.get() + 1);
                    let served = serve(stream, ending.clone());
                    let crowd = self.clone();
                    tokio::task::spawn_local(async move {
                        served.await;
                        crowd.open.set(crowd.open.get() - 1);
                        crowd.freed.notify_waiters();
                        crowd.freed.notify_one();
                    });
                }
                // Out of descriptors, most likely: those in use must end first.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }

    /// Waits until all have gone, at most so long.
    pub(crate) async fn gone(&self, limit: Duration) {
        let until = Instant::now() + limit;
        while self.open.get() > 0 && Instant::now() < until {
            let _ = tokio::time::timeout(LOOK, self.freed.notified()).await;
        }
    }
}
