//! Numbered places for what is on its way, so that events can name it by a small number.
//!
//! A freed place is used again before a new one is made: nothing is allocated once as many things have been under way
//! as ever will be. Left out: any check that a number is not kept after its place was freed.

/// Things in numbered places.
#[derive(Clone, Debug)]
pub struct Places<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Places<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Places<T> {
    /// Keeps a thing; returns the number of its place.
    pub fn keep(&mut self, thing: T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = Some(thing);
            return place;
        }
        self.places.push(Some(thing));
        (self.places.len() - 1) as u32
    }

    /// What is in a place.
    ///
    /// # Panics
    /// If the place is free.
    pub fn at(&self, place: u32) -> &T {
        self.places[place as usize].as_ref().expect("what is on its way has a place")
    }

    /// What is in a place, to be changed.
    ///
    /// # Panics
    /// If the place is free.
    pub fn at_mut(&mut self, place: u32) -> &mut T {
        self.places[place as usize].as_mut().expect("what is on its way has a place")
    }

    /// Takes a thing out and frees its place.
    ///
    /// # Panics
    /// If the place is free.
    pub fn take(&mut self, place: u32) -> T {
        let thing = self.places[place as usize].take().expect("what is on its way has a place");
        self.free.push(place);
        thing
    }
}
