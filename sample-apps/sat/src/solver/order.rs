//! Variables by activity: a heap from which decisions are taken.

/// An activity beyond this scales all of them down.
const ACTIVITY_MAX: u64 = 1 << 52;

/// Variables with their activities, some of them in a binary heap with the most active on top.
pub struct Order {
    activities: Vec<u64>,
    /// The amount that a conflict adds to the activity of each of its variables. It grows, so that
    /// recent conflicts count more.
    bump: u64,
    heap: Vec<u32>,
    /// By variable: its place in the heap.
    places: Vec<Option<u32>>,
}

impl Order {
    /// `variables` variables without activity, none of them in the heap.
    pub fn new(variables: usize) -> Self {
        Self {
            activities: vec![0; variables],
            bump: 1 << 12,
            heap: Vec::with_capacity(variables),
            places: vec![None; variables],
        }
    }

    /// Counts an occurrence of `variable` in the formula, for the order before any conflict.
    pub fn count(&mut self, variable: usize) {
        self.activities[variable] += 1;
    }

    /// Puts all variables into the heap.
    pub fn fill(&mut self) {
        (0..self.activities.len()).for_each(|variable| self.push(variable));
    }

    pub fn activity(&self, variable: usize) -> u64 {
        self.activities[variable]
    }

    /// Counts a conflict with `variable`.
    pub fn bump(&mut self, variable: usize) {
        self.activities[variable] += self.bump;
        if self.activities[variable] > ACTIVITY_MAX {
            self.activities.iter_mut().for_each(|activity| *activity >>= 40);
            self.bump = (self.bump >> 40).max(1 << 4);
        }
        if let Some(place) = self.places[variable] {
            self.rise(place as usize);
        }
    }

    /// Makes later conflicts count more, by a sixteenth.
    pub fn decay(&mut self) {
        self.bump += self.bump >> 4;
    }

    /// Puts a variable back into the heap, unless it is there.
    pub fn push(&mut self, variable: usize) {
        if self.places[variable].is_none() {
            self.places[variable] = Some(self.heap.len() as u32);
            self.heap.push(variable as u32);
            self.rise(self.heap.len() - 1);
        }
    }

    /// Takes the most active variable.
    pub fn pop(&mut self) -> Option<usize> {
        let top = *self.heap.first()? as usize;
        let last = self.heap.pop()?;
        self.places[top] = None;
        if last as usize != top {
            self.heap[0] = last;
            self.places[last as usize] = Some(0);
            self.sink(0);
        }
        Some(top)
    }

    fn rise(&mut self, mut place: usize) {
        let variable = self.heap[place];
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.activities[self.heap[parent] as usize] >= self.activities[variable as usize] {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, variable);
    }

    fn sink(&mut self, mut place: usize) {
        let variable = self.heap[place];
        loop {
            let left = 2 * place + 1;
            if left >= self.heap.len() {
                break;
            }
            let right = left + 1;
            let active = |place: usize| self.activities[self.heap[place] as usize];
            let child = if right < self.heap.len() && active(right) > active(left) { right } else { left };
            if active(child) <= self.activities[variable as usize] {
                break;
            }
            self.put(place, self.heap[child]);
            place = child;
        }
        self.put(place, variable);
    }

    fn put(&mut self, place: usize, variable: u32) {
        self.heap[place] = variable;
        self.places[variable as usize] = Some(place as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_active_comes_first() {
        let mut order = Order::new(5);
        order.fill();
        for variable in [3, 1, 3, 4, 1, 3] {
            order.bump(variable);
        }
        assert_eq!([order.pop(), order.pop(), order.pop()], [Some(3), Some(1), Some(4)]);
        order.push(3);
        assert_eq!(order.pop(), Some(3));
    }
}
