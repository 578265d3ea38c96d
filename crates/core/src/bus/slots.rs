//! A queue from whose middle entries can be taken: a slab of entries in two linked lists.
//!
//! One list is the order of arrival, the other holds, in the same order, the entries that may be shed.
//! Every operation is O(1), and nothing is left behind where an entry was taken out.

/// Where an entry is. Valid until the entry is removed.
pub(super) type Slot = usize;

const NONE: Slot = usize::MAX;

#[derive(Debug)]
struct Node<T> {
    value: Option<T>,
    /// Neighbours in the order of arrival.
    all: Links,
    /// Neighbours among the soft ones, if this is one.
    soft: Option<Links>,
}

#[derive(Clone, Copy, Debug)]
struct Links {
    previous: Slot,
    next: Slot,
}

#[derive(Clone, Copy, Debug)]
struct Ends {
    first: Slot,
    last: Slot,
}

const EMPTY: Ends = Ends { first: NONE, last: NONE };

/// The queue.
#[derive(Debug)]
pub(super) struct Slots<T> {
    nodes: Vec<Node<T>>,
    free: Vec<Slot>,
    all: Ends,
    soft: Ends,
    len: usize,
}

impl<T> Slots<T> {
    /// An empty queue. Memory is taken as it is needed and kept.
    pub(super) fn new() -> Self {
        Self { nodes: Vec::new(), free: Vec::new(), all: EMPTY, soft: EMPTY, len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Appends an entry; `soft` ones may be shed.
    pub(super) fn push(&mut self, value: T, soft: bool) -> Slot {
        let all = Links { previous: self.all.last, next: NONE };
        let soft_links = soft.then_some(Links { previous: self.soft.last, next: NONE });
        let node = Node { value: Some(value), all, soft: soft_links };
        let slot = if let Some(slot) = self.free.pop() {
            self.nodes[slot] = node;
            slot
        } else {
            self.nodes.push(node);
            self.nodes.len() - 1
        };
        match all.previous {
            NONE => self.all.first = slot,
            previous => self.nodes[previous].all.next = slot,
        }
        self.all.last = slot;
        if let Some(links) = soft_links {
            match links.previous {
                NONE => self.soft.first = slot,
                previous => self.soft_links(previous).next = slot,
            }
            self.soft.last = slot;
        }
        self.len += 1;
        slot
    }

    /// The oldest entry.
    pub(super) fn first(&self) -> Option<(Slot, &T)> {
        let slot = self.all.first;
        (slot != NONE).then(|| (slot, self.get(slot)))
    }

    /// The oldest entry that may be shed.
    pub(super) fn first_soft(&self) -> Option<Slot> {
        (self.soft.first != NONE).then_some(self.soft.first)
    }

    /// The soft entry that came after `slot`, which is one.
    pub(super) fn next_soft(&self, slot: Slot) -> Option<Slot> {
        self.nodes[slot].soft.map(|links| links.next).filter(|next| *next != NONE)
    }

    pub(super) fn get(&self, slot: Slot) -> &T {
        self.nodes[slot].value.as_ref().expect("a slot is valid until its entry is removed")
    }

    pub(super) fn get_mut(&mut self, slot: Slot) -> &mut T {
        self.nodes[slot].value.as_mut().expect("a slot is valid until its entry is removed")
    }

    /// Takes an entry out.
    pub(super) fn remove(&mut self, slot: Slot) -> T {
        let node = &mut self.nodes[slot];
        let value = node.value.take().expect("a slot is valid until its entry is removed");
        let (all, soft) = (node.all, node.soft);
        match all.previous {
            NONE => self.all.first = all.next,
            previous => self.nodes[previous].all.next = all.next,
        }
        match all.next {
            NONE => self.all.last = all.previous,
            next => self.nodes[next].all.previous = all.previous,
        }
        if let Some(links) = soft {
            match links.previous {
                NONE => self.soft.first = links.next,
                previous => self.soft_links(previous).next = links.next,
            }
            match links.next {
                NONE => self.soft.last = links.previous,
                next => self.soft_links(next).previous = links.previous,
            }
        }
        self.free.push(slot);
        self.len -= 1;
        value
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        *self = Self::new();
    }

    fn soft_links(&mut self, slot: Slot) -> &mut Links {
        self.nodes[slot].soft.as_mut().expect("soft entries are linked to soft ones only")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Push(bool),
        PopFirst,
        PopSoft,
        Remove(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => any::<bool>().prop_map(Step::Push),
            1 => Just(Step::PopFirst),
            1 => Just(Step::PopSoft),
            1 => any::<usize>().prop_map(Step::Remove),
        ]
    }

    proptest! {
        #[test]
        fn it_behaves_like_a_plain_list(steps in proptest::collection::vec(step(), 0..200)) {
            let mut slots = Slots::new();
            let mut model: Vec<(u32, bool, Slot)> = Vec::new();
            for (number, step) in (0..).zip(steps) {
                match step {
                    Step::Push(soft) => {
                        let slot = slots.push(number, soft);
                        model.push((number, soft, slot));
                    }
                    Step::PopFirst => {
                        let first = slots.first().map(|(slot, _)| slot);
                        let popped = first.map(|slot| slots.remove(slot));
                        let expected = (!model.is_empty()).then(|| model.remove(0).0);
                        prop_assert_eq!(popped, expected);
                    }
                    Step::PopSoft => {
                        let popped = slots.first_soft().map(|slot| slots.remove(slot));
                        let place = model.iter().position(|(_, soft, _)| *soft);
                        prop_assert_eq!(popped, place.map(|place| model.remove(place).0));
                    }
                    Step::Remove(_) if model.is_empty() => {}
                    Step::Remove(at) => {
                        let (expected, _, slot) = model.remove(at % model.len());
                        prop_assert_eq!(slots.remove(slot), expected);
                    }
                }
                prop_assert_eq!(slots.len(), model.len());
            }
            while let Some((slot, _)) = slots.first() {
                prop_assert_eq!(slots.remove(slot), model.remove(0).0);
            }
            prop_assert!(model.is_empty());
        }
    }
}
