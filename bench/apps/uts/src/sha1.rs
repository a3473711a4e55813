//! SHA-1 (RFC 3174) of messages of a few words, which fit in one block: the random generator of UTS.
//!
//! Libraries use the processor's own instructions for it where they may, so natively and not in a sandbox. This is the same code in both.

/// The digest of `message`, at most 13 words, with the words' bytes in big-endian order.
pub fn digest<const WORDS: usize>(message: [u32; WORDS]) -> [u32; 5] {
    const { assert!(WORDS <= 13, "one block has room for 13 words, a bit and the length") };
    let mut schedule = [0; 80];
    schedule[..WORDS].copy_from_slice(&message);
    schedule[WORDS] = 1 << 31;
    schedule[15] = (WORDS * 32) as u32;
    for t in 16..80 {
        schedule[t] =
            (schedule[t - 3] ^ schedule[t - 8] ^ schedule[t - 14] ^ schedule[t - 16]).rotate_left(1);
    }
    const START: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    let mut state = START;
    // Four rounds of twenty steps.
    for word in &schedule[..20] {
        let [_, b, c, d, _] = state;
        state = step(state, (b & c) | (!b & d), 0x5a82_7999, *word);
    }
    for word in &schedule[20..40] {
        let [_, b, c, d, _] = state;
        state = step(state, b ^ c ^ d, 0x6ed9_eba1, *word);
    }
    for word in &schedule[40..60] {
        let [_, b, c, d, _] = state;
        state = step(state, (b & c) | (b & d) | (c & d), 0x8f1b_bcdc, *word);
    }
    for word in &schedule[60..] {
        let [_, b, c, d, _] = state;
        state = step(state, b ^ c ^ d, 0xca62_c1d6, *word);
    }
    std::array::from_fn(|index| START[index].wrapping_add(state[index]))
}

#[inline(always)]
fn step([a, b, c, d, e]: [u32; 5], mixed: u32, constant: u32, word: u32) -> [u32; 5] {
    let first =
        a.rotate_left(5).wrapping_add(mixed).wrapping_add(e).wrapping_add(constant).wrapping_add(word);
    [first, a, b.rotate_left(30), c, d]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By `printf abcdefgh | sha1sum` and `sha1sum < /dev/null`.
    #[test]
    fn digests_are_those_of_sha1sum() {
        let abcdefgh = [0x6162_6364, 0x6566_6768];
        assert_eq!(digest(abcdefgh), [0x425a_f12a, 0x0743_502b, 0x322e_93a0, 0x15bc_f868, 0xe324_d56a]);
        assert_eq!(digest([]), [0xda39_a3ee, 0x5e6b_4b0d, 0x3255_bfef, 0x9560_1890, 0xafd8_0709]);
    }
}
