//! Initial tours.

use crate::tour::{Tour, Ways};

/// Goes from the city `start` always to the nearest remaining city.
pub fn nearest(ways: &Ways, start: usize) -> Tour {
    let mut left: Vec<usize> = (0..ways.count()).filter(|city| *city != start).collect();
    let mut order = vec![start as u8];
    let mut end = start;
    while let Some(place) = (0..left.len()).min_by_key(|place| (ways.length(end, left[*place]), left[*place]))
    {
        end = left.swap_remove(place);
        order.push(end as u8);
    }
    Tour::of(ways, order)
}

/// The best of the [`nearest`] tours from all cities, each improved until neither reversing a part nor moving a part of
/// up to three cities makes it shorter (Croes 1958; Or 1976). Mostly it is the shortest or within a few per cent of it.
pub fn improved(ways: &Ways) -> Option<Tour> {
    (0..ways.count())
        .map(|start| {
            let mut order = nearest(ways, start).order;
            while reverse_a_part(ways, &mut order) || move_a_part(ways, &mut order) {}
            Tour::of(ways, order)
        })
        .min()
}

/// Reverses a part of the round if that makes it shorter.
fn reverse_a_part(ways: &Ways, order: &mut [u8]) -> bool {
    let count = order.len();
    let way = |from: u8, to: u8| ways.length(usize::from(from), usize::from(to));
    for first in 1..count {
        for last in first + 1..count {
            let (before, after) = (order[first - 1], order[(last + 1) % count]);
            let (begin, end) = (order[first], order[last]);
            if way(before, end) + way(begin, after) < way(before, begin) + way(end, after) {
                order[first..=last].reverse();
                return true;
            }
        }
    }
    false
}

/// Moves a part of up to three cities to another place, in either direction, if that makes the round shorter.
fn move_a_part(ways: &Ways, order: &mut [u8]) -> bool {
    const PART_MAX: usize = 3;
    let way = |from: u8, to: u8| ways.length(usize::from(from), usize::from(to));
    for _ in 0..order.len() {
        for part in 1..=PART_MAX.min(order.len().saturating_sub(2)) {
            let (begin, end) = (order[0], order[part - 1]);
            let (next, last) = (order[part], order[order.len() - 1]);
            let saved = way(last, begin) + way(end, next) - way(last, next);
            for place in part..order.len() - 1 {
                let (before, after) = (order[place], order[place + 1]);
                let forwards = way(before, begin) + way(end, after);
                let backwards = way(before, end) + way(begin, after);
                if forwards.min(backwards) - way(before, after) < saved {
                    if backwards < forwards {
                        order[..part].reverse();
                    }
                    order[..=place].rotate_left(part);
                    return true;
                }
            }
        }
        order.rotate_left(1);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;

    #[test]
    fn a_round_that_crosses_itself_is_untangled() {
        let corners = [(0_i64, 0_i64), (0, 9), (9, 9), (9, 0)];
        let ways = Ways::new(4, |from, to| {
            let ((x, y), (u, v)) = (corners[from], corners[to]);
            (x - u).abs().max((y - v).abs()) + (x - u).abs().min((y - v).abs()) / 2
        });
        let mut order = vec![0, 2, 1, 3];
        assert!(reverse_a_part(&ways, &mut order) && !reverse_a_part(&ways, &mut order));
        assert_eq!(Tour::of(&ways, order).order, [0, 1, 2, 3]);
    }

    #[test]
    fn a_city_out_of_place_is_moved() {
        let on_a_line = Ways::new(6, |from, to| from.abs_diff(to) as i64);
        let mut order = vec![0, 3, 1, 2, 4, 5];
        assert!(move_a_part(&on_a_line, &mut order));
        assert_eq!(Tour::of(&on_a_line, order).length, 10);
    }

    #[test]
    fn an_improved_tour_visits_each_city_and_is_shorter() {
        for count in [3, 4, 5, 17, 48] {
            let ways = generate(count, 3);
            let found = improved(&ways).expect("there are cities");
            let mut cities = found.order.clone();
            cities.sort_unstable();
            assert!(cities.into_iter().eq(0..count as u8), "{count} cities");
            assert_eq!(found, Tour::of(&ways, found.order.clone()));
            assert!(found <= nearest(&ways, 0), "{count} cities");
        }
    }
}
