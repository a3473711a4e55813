//! One rounded inequality, priced into the profits, that closes most of the gap of hard instances.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::items::{Item, Items};

/// Maximum divisors that are tried.
const DIVISORS_MAX: i64 = 256;

/// Maximum items sorted in the search for a price, all sorts added up.
const ITEMS_SORTED_MAX: usize = 2_000_000;

/// An inequality that every packing keeps, `Σ units(item) ≤ limit`, and its price a unit.
///
/// The linear relaxation may break a knapsack in the middle of an item; a rounded inequality sees
/// that whole items do not fit. Instead of a second constraint the search has a Lagrangian
/// relaxation: an item's *value* is its profit less the price of its units, and no packing is worth
/// more than `price × limit` and its values. (Martello and Toth, "Upper bounds and algorithms for
/// hard 0-1 knapsack problems", Operations Research 45, 1997, do so with the number of items. The
/// divisors are Chvátal and Gomory's; they see through items of about capacity/2, /4, /8 …, which
/// Jooken, Leyman and De Causmaecker made to be hard, EJOR 301, 2022.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    unit: Unit,
    limit: i64,
    price: i64,
}

/// An item's units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Unit {
    /// Each counts one; the limit is the number of lightest items that fit.
    Item,
    /// The item's weight divided by this, rounded down; so is the limit.
    Weight(i64),
}

impl Cut {
    /// No inequality: values are profits.
    const NONE: Self = Self { unit: Unit::Item, limit: 0, price: 0 };

    /// The cut and price that give the lowest bound, of those that are tried.
    pub fn best_for(items: &Items) -> Self {
        let plain = Relaxation::of(items, Self::NONE);
        let mut violated: Vec<(i64, Self)> = candidates(items)
            .map(|cut| (plain.units(items, cut) - cut.limit, cut))
            .filter(|(excess, _)| *excess > 0)
            .collect();
        // If not all can be priced, those that the relaxation violates by the greatest share.
        violated.sort_by_key(|(excess, cut)| Reverse(excess * 1000 / cut.limit.max(1)));
        let profit_max = items.items.iter().map(|item| item.profit).max().unwrap_or(0);
        let sorts = profit_max.checked_ilog2().unwrap_or(0) as usize + 3;
        violated.truncate((ITEMS_SORTED_MAX / (items.items.len() * sorts).max(1)).max(1));

        let mut best = (plain.bound, Self::NONE);
        for (_, cut) in violated {
            let priced = cut.priced(items, profit_max);
            if priced.0 < best.0 {
                best = priced;
            }
        }
        best.1
    }

    /// The value of `item`: its profit less the price of its units.
    pub fn value(self, item: Item) -> i64 {
        item.profit - self.price * self.units(item)
    }

    /// The maximum worth of any packing on top of its values.
    pub fn allowance(self) -> i64 {
        self.price * self.limit
    }

    fn units(self, item: Item) -> i64 {
        match self.unit {
            Unit::Item => 1,
            Unit::Weight(weight) => item.weight / weight,
        }
    }

    /// The lowest bound over all prices, with the cut at that price. The bound is convex in the
    /// price, and falls for as long as the relaxation takes more units than the limit.
    fn priced(self, items: &Items, profit_max: i64) -> (i64, Self) {
        let (mut low, mut high) = (0, profit_max);
        let mut best = (i64::MAX, self);
        while low <= high {
            let cut = Self { price: low.midpoint(high), ..self };
            let relaxation = Relaxation::of(items, cut);
            if relaxation.bound < best.0 {
                best = (relaxation.bound, cut);
            }
            if relaxation.units(items, cut) > cut.limit {
                low = cut.price + 1;
            } else {
                high = cut.price - 1;
            }
        }
        best
    }
}

/// All cuts that are tried, without a price.
fn candidates(items: &Items) -> impl Iterator<Item = Cut> {
    let mut weights: Vec<i64> = items.items.iter().map(|item| item.weight).collect();
    weights.sort_unstable();
    let mut room = items.capacity;
    let fitting = weights.iter().take_while(|&&weight| {
        room -= weight;
        room >= 0
    });
    let most_items = Cut { unit: Unit::Item, limit: fitting.count().cast_signed() as i64, price: 0 };
    let capacity = items.capacity;
    // The smallest weight of which at most `limit` fit.
    let divisors = (1..=DIVISORS_MAX).map(move |limit| capacity / (limit + 1) + 1).map(move |divisor| Cut {
        unit: Unit::Weight(divisor),
        limit: capacity / divisor,
        price: 0,
    });
    std::iter::once(most_items).chain(divisors)
}

/// The linear relaxation at some price: the items with the best values per weight, and a part of the last item.
struct Relaxation {
    /// No packing is worth more.
    bound: i64,
    /// Positions of the items that are packed whole.
    whole: Vec<usize>,
    /// The item of which a part is packed, and the room left for it.
    part: Option<(usize, i64)>,
}

impl Relaxation {
    fn of(items: &Items, cut: Cut) -> Self {
        let mut order: Vec<(i64, i64, usize)> = (items.items.iter().enumerate())
            .filter(|(_, item)| item.weight <= items.capacity)
            .map(|(position, &item)| (cut.value(item), item.weight, position))
            .filter(|(value, _, _)| *value > 0)
            .collect();
        order.sort_unstable_by(|a, b| by_efficiency((a.0, a.1), (b.0, b.1)));
        let mut room = items.capacity;
        let mut bound = cut.allowance();
        let mut whole = Vec::new();
        for (value, weight, position) in order {
            if weight <= room {
                room -= weight;
                bound += value;
                whole.push(position);
            } else {
                return Self { bound: bound + value * room / weight, whole, part: Some((position, room)) };
            }
        }
        Self { bound, whole, part: None }
    }

    /// The units that it packs, rounded up.
    fn units(&self, items: &Items, cut: Cut) -> i64 {
        let whole: i64 = self.whole.iter().map(|&position| cut.units(items.items[position])).sum();
        let part = self.part.map_or(0, |(position, room)| {
            let item = items.items[position];
            (cut.units(item) * room + item.weight - 1) / item.weight
        });
        whole + part
    }
}

/// Orders `(value, weight)` by falling value per weight.
pub fn by_efficiency(a: (i64, i64), b: (i64, i64)) -> std::cmp::Ordering {
    let product = |value: i64, weight: i64| i128::from(value) * i128::from(weight);
    product(b.0, a.1).cmp(&product(a.0, b.1))
}
