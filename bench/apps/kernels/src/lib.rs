//! Kernels: the small loops in which programs that compute spend their time, on data that a generator makes. And loops
//! that never end, for the time that it takes to stop them.

use std::hint::black_box;

use sateen::prelude::*;

/// Marsaglia's xorshift.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn random() -> Random {
    Random(0x9e37_79b9_7f4a_7c15)
}

/// The product of two matrices of `size` rows, `turns` times: a sum of some of its elements.
#[main]
pub fn matrix(size: usize, turns: u32) -> f64 {
    let mut random = random();
    let mut matrix = || -> Vec<f64> { (0..size * size).map(|_| random.unit()).collect() };
    let (left, right) = (matrix(), matrix());
    let mut product = vec![0.0; size * size];
    for _ in 0..turns {
        for row in 0..size {
            for column in 0..size {
                let mut sum = 0.0;
                for at in 0..size {
                    sum += left[row * size + at] * right[at * size + column];
                }
                product[row * size + column] = sum;
            }
        }
        black_box(&mut product);
    }
    product.iter().step_by(size + 1).sum()
}

/// Points of a square of `size` by `size` that belong to Mandelbrot's set after 200 steps.
#[main]
pub fn mandelbrot(size: u32) -> u32 {
    let inside = |x: u32, y: u32| {
        let place = |at: u32, from: f64, width: f64| from + width * f64::from(at) / f64::from(size);
        let (real, imaginary) = (place(x, -2.0, 3.0), place(y, -1.5, 3.0));
        let (mut re, mut im) = (0.0, 0.0);
        for _ in 0..200 {
            if re * re + im * im > 4.0 {
                return false;
            }
            (re, im) = (re * re - im * im + real, 2.0 * re * im + imaginary);
        }
        true
    };
    (0..size).map(|y| (0..size).filter(|x| inside(*x, y)).count() as u32).sum()
}

/// The energy of five bodies after `steps` steps.
#[main]
pub fn bodies(steps: u32) -> f64 {
    #[derive(Clone, Copy)]
    struct Body {
        place: [f64; 3],
        speed: [f64; 3],
        mass: f64,
    }
    let mut random = random();
    let mut three = |scale: f64| -> [f64; 3] { std::array::from_fn(|_| scale * (random.unit() - 0.5)) };
    let mut bodies: [Body; 5] =
        std::array::from_fn(|at| Body { place: three(20.0), speed: three(0.5), mass: 1.0 / (at + 1) as f64 });
    for _ in 0..steps {
        for one in 0..bodies.len() {
            for other in one + 1..bodies.len() {
                let apart: [f64; 3] =
                    std::array::from_fn(|axis| bodies[one].place[axis] - bodies[other].place[axis]);
                let square: f64 = apart.iter().map(|part| part * part).sum::<f64>() + 0.01;
                let pull = 0.001 / (square * square.sqrt());
                let (mass, other_mass) = (bodies[one].mass, bodies[other].mass);
                for (axis, part) in apart.into_iter().enumerate() {
                    bodies[one].speed[axis] -= part * other_mass * pull;
                    bodies[other].speed[axis] += part * mass * pull;
                }
            }
        }
        for body in &mut bodies {
            for axis in 0..3 {
                body.place[axis] += 0.001 * body.speed[axis];
            }
        }
    }
    bodies.iter().map(|body| body.mass * body.speed.iter().map(|part| part * part).sum::<f64>()).sum()
}

/// Sorts `count` numbers: a sum in which the order matters.
#[main]
pub fn quicksort(count: usize) -> u64 {
    fn sort(numbers: &mut [u64]) {
        if numbers.len() < 2 {
            return;
        }
        let pivot = numbers[numbers.len() / 2];
        let (mut low, mut high) = (0, numbers.len() - 1);
        loop {
            while numbers[low] < pivot {
                low += 1;
            }
            while numbers[high] > pivot {
                high -= 1;
            }
            if low >= high {
                break;
            }
            numbers.swap(low, high);
            low += 1;
            high -= 1;
        }
        let (left, right) = numbers.split_at_mut(low);
        sort(left);
        sort(right);
    }
    let mut random = random();
    let mut numbers: Vec<u64> = (0..count).map(|_| random.next()).collect();
    sort(&mut numbers);
    numbers.iter().zip(1..).fold(0, |sum, (number, at)| sum ^ number.wrapping_mul(at))
}

/// The FNV hash of `bytes` bytes, byte by byte, `turns` times.
#[main]
pub fn fnv(bytes: usize, turns: u32) -> u64 {
    let mut random = random();
    let text: Vec<u8> = (0..bytes).map(|_| random.next() as u8).collect();
    (0..turns).fold(0xcbf2_9ce4_8422_2325, |start, _| {
        black_box(&text)
            .iter()
            .fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
    })
}

/// The number of primes below `bound`, `turns` times.
#[main]
pub fn sieve(bound: usize, turns: u32) -> usize {
    let mut count = 0;
    for _ in 0..turns {
        let mut is_composite = vec![false; bound];
        for number in (2..).take_while(|number| number * number < bound) {
            if !is_composite[number] {
                for multiple in (number * number..bound).step_by(number) {
                    is_composite[multiple] = true;
                }
            }
        }
        count = black_box(&is_composite).iter().skip(2).filter(|is_composite| !**is_composite).count();
    }
    count
}

/// Ways to place `size` queens, by recursion on bits.
#[main]
pub fn queens(size: u32) -> u64 {
    fn place(all: u32, columns: u32, left: u32, right: u32) -> u64 {
        if columns == all {
            return 1;
        }
        let mut free = all & !(columns | left | right);
        let mut ways = 0;
        while free != 0 {
            let bit = free & free.wrapping_neg();
            free ^= bit;
            ways += place(all, columns | bit, (left | bit) << 1, (right | bit) >> 1);
        }
        ways
    }
    place((1 << size) - 1, 0, 0, 0)
}

/// The edits between two texts of `length` letters.
#[main]
pub fn edits(length: usize) -> usize {
    let mut random = random();
    let mut text = || -> Vec<u8> { (0..length).map(|_| b'a' + random.below(4) as u8).collect() };
    let (left, right) = (text(), text());
    let mut row: Vec<usize> = (0..=length).collect();
    for (at, letter) in left.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, other) in right.iter().enumerate() {
            let change = diagonal + usize::from(letter != other);
            diagonal = row[column + 1];
            row[column + 1] = change.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[length]
}

/// The sum of all shortest paths of a graph with `size` nodes, after Floyd and Warshall.
#[main]
pub fn paths(size: usize) -> u64 {
    let mut random = random();
    let mut length: Vec<u32> = (0..size * size).map(|_| 1 + random.below(1000) as u32).collect();
    for middle in 0..size {
        for from in 0..size {
            let first = length[from * size + middle];
            for to in 0..size {
                let other = first + length[middle * size + to];
                let known = &mut length[from * size + to];
                *known = other.min(*known);
            }
        }
    }
    length.iter().map(|length| u64::from(*length)).sum()
}

/// Never ends, and calls nothing.
#[main]
pub fn endless_loop() -> u64 {
    let mut random = random();
    loop {
        if random.next() == 0 {
            return 0;
        }
    }
}

/// Never ends, and calls a function at each turn.
#[main]
pub fn endless_calls() -> u64 {
    #[inline(never)]
    fn next(random: &mut Random) -> u64 {
        random.next()
    }
    let mut random = random();
    loop {
        if next(black_box(&mut random)) == 0 {
            return 0;
        }
    }
}

/// Does not end in this life, and has no loop.
#[main]
pub fn endless_recursion() -> u64 {
    #[inline(never)]
    fn down(depth: u32, seed: u64) -> u64 {
        if depth == 0 {
            black_box(seed)
        } else {
            down(depth - 1, seed ^ 1).wrapping_add(down(depth - 1, seed ^ 2))
        }
    }
    down(black_box(62), 1)
}

/// Never ends, and copies 64 MiB at each turn.
#[main]
pub fn endless_copies() -> u64 {
    let mut bytes = vec![1_u8; 128 << 20];
    loop {
        let (left, right) = bytes.split_at_mut(64 << 20);
        left.copy_from_slice(black_box(right));
        if left[0] == 0 {
            return 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_have_their_known_results() {
        assert_eq!(queens(8), 92);
        assert_eq!(sieve(100, 2), 25);
        assert_eq!(fnv(0, 3), 0xcbf2_9ce4_8422_2325);
        assert_eq!(edits(0), 0);
        assert!((100..200).contains(&mandelbrot(20).saturating_mul(2)), "{}", mandelbrot(20));
        assert_eq!(quicksort(1000), {
            let mut random = random();
            let mut numbers: Vec<u64> = (0..1000).map(|_| random.next()).collect();
            numbers.sort_unstable();
            numbers.iter().zip(1..).fold(0, |sum, (number, at)| sum ^ number.wrapping_mul(at))
        });
    }

    #[test]
    fn paths_are_no_longer_than_their_parts() {
        assert!(paths(30) < 30 * 30 * 1000);
        assert!(bodies(10).is_finite() && matrix(3, 2) > 0.0);
    }
}
