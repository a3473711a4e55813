//! The computations of `module.wat` in plain Rust, without an engine.

/// Bounds of the memory that is tested, in bytes.
const FROM: u64 = 0x1_0000;
const HALF: u64 = 0x100_0000;
const TO: u64 = FROM + 2 * HALF;

pub fn integer() -> u64 {
    let (mut x, mut sum) = (0x9e37_79b9_7f4a_7c15_u64, 0_u64);
    for i in 1..=3_000_000_i32 {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        sum = sum.rotate_left(5).wrapping_add(x.wrapping_mul(0x2545_f491_4f6c_dd1d));
        sum ^= x / ((sum >> 40) | 1);
        sum = sum.wrapping_add_signed((x as i32 % i).into());
        sum = sum.wrapping_sub(u64::from(x.count_ones() * (x.leading_zeros() + x.trailing_zeros())));
    }
    sum
}

pub fn float() -> u64 {
    let (mut x, mut decayed, mut sum) = (0.4_f64, 0.0_f64, 0_u64);
    for _ in 0..3_000_000 {
        x = 3.9999 * x * (1.0 - x);
        let y = (x + 0.5).sqrt() / (x + 1.0);
        decayed = decayed * 0.75 + y;
        let small = x as f32 * 1.1 + 0.3;
        let small = small.sqrt() / (small + 1.0);
        sum = sum.rotate_left(7) ^ decayed.to_bits();
        sum = sum.wrapping_add(small.to_bits().into());
        sum = sum.wrapping_add((y * 1e9).round_ties_even() as u64);
    }
    sum ^ x.to_bits()
}

pub fn simd() -> u64 {
    const SHUFFLE: [usize; 16] = [5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 20];
    let mut a = [0x0123_4567_u32, 0x89ab_cdef, 0xfedc_ba98, 0x7654_3210];
    let (mut b, mut sum) = ([1_u32, 2, 3, 4], [0_u64; 2]);
    let (mut f, mut d) = ([0.0_f32; 4], [0.0_f64; 2]);
    for _ in 0..4_000_000 {
        a = a.map(|lane| lane.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        let mut bytes = [0; 32];
        for lane in 0..4 {
            bytes[4 * lane..][..4].copy_from_slice(&(b[lane] ^ a[lane] >> 16).to_le_bytes());
            bytes[16 + 4 * lane..][..4].copy_from_slice(&a[lane].to_le_bytes());
        }
        let shuffled = SHUFFLE.map(|from| bytes[from]);
        for lane in 0..4 {
            let part = shuffled[4 * lane..][..4].try_into().expect("four bytes");
            b[lane] = u32::from_le_bytes(part);
            f[lane] = f[lane] * 0.7 + (b[lane] & 0xffff) as f32;
        }
        for lane in 0..2 {
            sum[lane] = sum[lane].wrapping_add(u64::from(a[lane]) * u64::from(b[lane]));
            d[lane] = d[lane] * 0.9 + f64::from(f[lane]).sqrt();
            let [low, high] = [f[2 * lane], f[2 * lane + 1]].map(|part| u64::from(part.to_bits()));
            sum[lane] ^= low | high << 32;
            sum[lane] = sum[lane].wrapping_add(d[lane].to_bits());
        }
    }
    sum[0].rotate_left(1).wrapping_add(sum[1])
}

pub fn memory() -> u64 {
    const MASKS: [u64; 4] = [0, u64::MAX, 0x5555_5555_5555_5555, 0xaaaa_aaaa_aaaa_aaaa];
    let mut sum = 0_u64;
    for (pattern, mask) in MASKS.into_iter().enumerate() {
        for word in (FROM / 8..TO / 8).rev() {
            let at = 8 * word;
            let written = if pattern == 1 && at < FROM + HALF { at + HALF } else { at };
            sum = sum.rotate_left(1).wrapping_add(written.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ mask);
        }
    }
    sum
}
