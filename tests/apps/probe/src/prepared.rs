//! Values made of inputs alone. The input `orders` says what happens while one is made.

use sateen::prelude::*;
use serde::{Deserialize, Serialize};

/// The numbers in the input `numbers`, and what its jobs can see of it.
pub struct Numbers {
    numbers: Vec<u64>,
    /// Made late, as a value in the heap that grows.
    sums: std::cell::OnceCell<Vec<u64>>,
}

#[derive(Serialize, Deserialize)]
struct Total(u64);

#[shared]
impl Total {}

#[job]
fn double(number: u64) -> u64 {
    2 * number
}

/// Logs a line, so that tests see how often it is made.
#[prepare]
fn numbers() -> Result<Numbers, BadInput> {
    let text = sateen::input_text("numbers")?;
    sateen::log!("makes numbers");
    let orders = sateen::input_text("orders").unwrap_or_default();
    match orders.as_str() {
        "spawn" => assert_eq!(double::spawn(1).sync(), 2),
        "share" => drop(Shared::new(Total(1))),
        "progress" => sateen::progress(1, 2),
        "panic" => panic!("the numbers cannot be made"),
        "memory" => drop(std::hint::black_box(vec![1_u8; 3 << 29])),
        "forever" => while std::hint::black_box(true) {},
        _ => {}
    }
    // Long enough for an image to pay.
    crate::spin(2_000_000);
    let parse =
        |line: &str| line.parse().map_err(|_| BadInput::at_line("numbers", 1, "a number is expected"));
    let numbers = text.lines().map(parse).collect::<Result<_, _>>()?;
    Ok(Numbers { numbers, sums: std::cell::OnceCell::new() })
}

/// Made of another prepared value.
#[prepare]
fn sum() -> Option<u64> {
    Some(numbers().ok()?.numbers.iter().sum())
}

/// A number, and the sum of all up to it.
#[job]
fn find_number(at: usize, steps: u64) -> (u64, u64) {
    let numbers = numbers().expect("the root job has read them");
    let sums = numbers.sums.get_or_init(|| {
        let mut sum = 0;
        numbers
            .numbers
            .iter()
            .map(|number| {
                sum += number;
                sum
            })
            .collect()
    });
    crate::spin(steps);
    (numbers.numbers[at], sums[at])
}

/// Looks up each number in a job of its own; their sum, by three ways.
#[main]
pub fn look_up_all(steps: u64) -> Result<String, BadInput> {
    let count = numbers()?.numbers.len();
    let mut set = JobSet::new();
    for at in 0..count {
        find_number::spawn_in(&mut set, at, steps);
    }
    let (mut total, mut last) = (0, 0);
    while let Some((_, (number, sum))) = set.next() {
        total += number;
        last = last.max(sum);
    }
    Ok(format!("{total} {last} {:?}", sum()))
}

/// Does not need the numbers.
#[main]
pub fn look_up_nothing() -> u64 {
    double::spawn(21).sync()
}

/// A job fails because its value cannot be made, and the next may spawn.
#[main]
pub fn look_up_and_recover() -> String {
    let error = find_number::spawn(0, 0).try_sync().expect_err("the numbers cannot be made");
    format!("{}: {}", error.message, double::spawn(21).sync())
}
