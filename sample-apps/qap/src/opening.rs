//! Initial assignments.

use crate::instance::{Assignment, Instance};

/// Facility i at location i.
pub fn same_numbers(instance: &Instance) -> Assignment {
    shifted(instance, 0)
}

/// The best assignment reached from all rotations of [`same_numbers`] by exchanging the locations of two facilities for
/// as long as that makes it cheaper.
pub fn improved(instance: &Instance) -> Option<Assignment> {
    (0..instance.size)
        .map(|shift| {
            let mut places = shifted(instance, shift).places;
            while exchange_two(instance, &mut places) {}
            Assignment::of(instance, places)
        })
        .min()
}

fn shifted(instance: &Instance, shift: usize) -> Assignment {
    let places = (0..instance.size).map(|facility| ((facility + shift) % instance.size) as u8);
    Assignment::of(instance, places.collect())
}

/// Exchanges the locations of the two facilities that save most, if any exchange saves something.
fn exchange_two(instance: &Instance, places: &mut [u8]) -> bool {
    let pairs = (0..instance.size).flat_map(|one| (0..one).map(move |other| (one, other)));
    let best = pairs.map(|(one, other)| (saved(instance, places, one, other), one, other)).max();
    match best {
        Some((saved, one, other)) if saved > 0 => {
            places.swap(one, other);
            true
        }
        _ => false,
    }
}

/// The saving when two facilities exchange their locations.
fn saved(instance: &Instance, places: &[u8], one: usize, other: usize) -> i64 {
    let flow = |from: usize, to: usize| instance.first[from * instance.size + to];
    let way = |from: usize, to: usize| instance.second[from * instance.size + to];
    let [here, there] = [one, other].map(|facility| usize::from(places[facility]));
    let pair = (flow(one, one) - flow(other, other)) * (way(here, here) - way(there, there))
        + (flow(one, other) - flow(other, one)) * (way(here, there) - way(there, here));
    let third = |facility: usize| {
        let place = usize::from(places[facility]);
        (flow(facility, one) - flow(facility, other)) * (way(place, here) - way(place, there))
            + (flow(one, facility) - flow(other, facility)) * (way(here, place) - way(there, place))
    };
    let others = (0..instance.size).filter(|facility| ![one, other].contains(facility));
    pair + others.map(third).sum::<i64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exchange_saves_the_difference_of_the_costs() {
        // Not symmetric, and with non-zero diagonals.
        let numbers = |seed: i64| (0..36).map(|nth| (nth * nth * seed + 7 * nth) % 23).collect::<Vec<i64>>();
        let instance = Instance { size: 6, first: numbers(3), second: numbers(5) };
        let places = shifted(&instance, 2).places;
        for one in 0..6 {
            for other in 0..one {
                let mut exchanged = places.clone();
                exchanged.swap(one, other);
                let difference = instance.cost(&places) - instance.cost(&exchanged);
                assert_eq!(saved(&instance, &places, one, other), difference, "{one} and {other}");
            }
        }
    }

    #[test]
    fn no_exchange_improves_an_improved_assignment() {
        let instance = crate::generate(12, 1);
        let found = improved(&instance).expect("there are twelve");
        assert!(found.cost < same_numbers(&instance).cost);
        for one in 0..12 {
            for other in 0..one {
                assert!(saved(&instance, &found.places, one, other) <= 0, "{one} and {other}");
            }
        }
    }
}
