//! The preparation of a search: ways whose lengths give a tight bound.
//!
//! A tour has two ways at each city. So if the price of a city is added to all its ways, every
//! tour becomes longer by the same amount, twice the sum of all prices, and the best one stays the best. The
//! shortest tree, however, changes: prices are chosen that make it as similar to a tour as
//! possible (Held and Karp, "The traveling-salesman problem and minimum spanning trees", 1970 and 1971).

use crate::tour::{CITIES_MAX, Ways};

/// Lengths are in units this much finer than those of the file, so that prices can be fractions.
pub const UNIT: i64 = 1024;

/// Ways with the cities' prices added.
#[derive(Debug, Clone)]
pub struct Problem {
    pub count: usize,
    /// The price of each city.
    pub prices: Vec<i64>,
    /// The extra length of a tour with prices: twice the sum of all prices.
    pub surplus: i64,
    /// One row per city.
    rows: Vec<[i64; CITIES_MAX]>,
}

impl Problem {
    /// With the best prices, which take a while to find.
    pub fn new(ways: &Ways) -> Self {
        Self::of(ways, prices(ways))
    }

    /// With these prices, one for each city.
    pub fn of(ways: &Ways, prices: Vec<i64>) -> Self {
        let count = ways.count();
        let mut rows = vec![[0; CITIES_MAX]; count];
        for (from, row) in rows.iter_mut().enumerate() {
            for (to, length) in row.iter_mut().enumerate().take(count) {
                *length = ways.length(from, to) * UNIT + prices[from] + prices[to];
            }
        }
        Self { count, surplus: 2 * prices.iter().sum::<i64>(), rows, prices }
    }

    /// The distance from one city to another, prices included.
    #[inline(always)]
    pub fn length(&self, from: usize, to: usize) -> i64 {
        self.rows[from][to % CITIES_MAX]
    }

    /// A lower bound for the path from the city `end` through all of `left`, at least one, and on to city 0:
    /// a shortest tree of `left` with the cheapest ways to it.
    pub fn rest(&self, end: usize, left: u64) -> i64 {
        let (to_end, to_start) = (&self.rows[end], &self.rows[0]);
        let mut cities = [0_u8; CITIES_MAX];
        let mut count = 0;
        let (mut from_end, mut from_start) = (i64::MAX, i64::MAX);
        let mut rest = left;
        while rest != 0 {
            let city = rest.trailing_zeros() as usize % CITIES_MAX;
            rest &= rest - 1;
            cities[count % CITIES_MAX] = city as u8;
            count += 1;
            from_end = from_end.min(to_end[city]);
            from_start = from_start.min(to_start[city]);
        }
        from_end + from_start + self.tree(&mut cities, count)
    }

    /// The length of a shortest tree of the first `count` of `cities` (Prim's).
    fn tree(&self, cities: &mut [u8; CITIES_MAX], count: usize) -> i64 {
        let mut reach = [i64::MAX; CITIES_MAX];
        let mut left = count - 1;
        let mut newest = usize::from(cities[left % CITIES_MAX]);
        let mut length = 0;
        while left > 0 {
            let row = &self.rows[newest];
            let (mut least, mut place) = (i64::MAX, 0);
            for nth in 0..left {
                let nth = nth % CITIES_MAX;
                let way = reach[nth].min(row[usize::from(cities[nth]) % CITIES_MAX]);
                reach[nth] = way;
                if way < least {
                    (least, place) = (way, nth);
                }
            }
            length += least;
            left -= 1;
            newest = usize::from(cities[place]);
            cities[place] = cities[left % CITIES_MAX];
            reach[place] = reach[left % CITIES_MAX];
        }
        length
    }
}

/// Prices with which a shortest tree of all cities but 0, and two ways from there, is long.
///
/// The steps are Helsgaun's ("An effective implementation of the Lin-Kernighan traveling salesman
/// heuristic", 2000): they come in periods, each half as long as the one before.
fn prices(ways: &Ways) -> Vec<i64> {
    let count = ways.count();
    let mut prices = vec![0; count];
    let mut best = prices.clone();
    let mut longest = i64::MIN;
    let mut before = vec![0; count];
    let mut period = count.max(20);
    let mut step = UNIT * (0..count).map(|city| ways.length(city, (city + 1) % count)).max().unwrap_or(0) / 8;
    while step > 0 && period > 0 {
        for _ in 0..period {
            let (length, degrees) = one_tree(ways, &prices);
            if length > longest {
                longest = length;
                best.clone_from(&prices);
            }
            if degrees.iter().all(|degree| *degree == 2) {
                return best;
            }
            for (city, price) in prices.iter_mut().enumerate() {
                *price += step * (7 * (degrees[city] - 2) + 3 * before[city]) / 10;
                before[city] = degrees[city] - 2;
            }
        }
        step = step * 2 / 3;
        period = period * 9 / 10;
        prices.clone_from(&best);
    }
    best
}

/// The length, less the surplus, of a shortest tree of all cities but 0 and the two cheapest ways from
/// there; and the number of its ways at each city.
fn one_tree(ways: &Ways, prices: &[i64]) -> (i64, Vec<i64>) {
    let count = ways.count();
    let length = |from: usize, to: usize| ways.length(from, to) * UNIT + prices[from] + prices[to];
    let mut degrees = vec![0; count];
    let mut total = -2 * prices.iter().sum::<i64>();
    let mut left: Vec<(i64, usize, usize)> = (2..count).map(|city| (length(1, city), city, 1)).collect();
    while let Some(place) = (0..left.len()).min_by_key(|place| (left[*place].0, left[*place].1)) {
        let (way, newest, parent) = left.swap_remove(place);
        total += way;
        degrees[newest] += 1;
        degrees[parent] += 1;
        for (way, city, parent) in &mut left {
            let other = length(newest, *city);
            if other < *way {
                (*way, *parent) = (other, newest);
            }
        }
    }
    let mut from_start: Vec<(i64, usize)> = (1..count).map(|city| (length(0, city), city)).collect();
    from_start.sort_unstable();
    for (way, city) in &from_start[..2] {
        total += way;
        degrees[*city] += 1;
        degrees[0] += 1;
    }
    (total, degrees)
}
