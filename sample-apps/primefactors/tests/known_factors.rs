//! Factorisations that others have published, and those of coreutils' `factor`.

use std::path::PathBuf;
use std::process::Command;

use primefactors::{factors, factors_plain, main, plain};
use sateen::BadInput;

#[test]
fn what_is_printed() {
    let numbers = ["0", "1", "2", "12", "97", "65536", "18446744073709551617"].map(str::to_owned);
    let expected = "0:\n1:\n2: 2\n12: 2 2 3\n97: 97\n65536: 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2\n\
                    18446744073709551617: 274177 67280421310721";
    assert_eq!(main(numbers.to_vec()).as_deref(), Ok(expected));
    assert_eq!(plain(numbers.to_vec()).as_deref(), Ok(expected));
}

#[test]
fn what_is_no_number_is_refused() {
    for word in ["", "-1", "x", "1.5", "340282366920938463463374607431768211456"] {
        let expected = format!(
            "`{word}` is not a whole number from 0 to 340282366920938463463374607431768211455 (128 bits)"
        );
        assert_eq!(main(vec!["7".to_owned(), word.to_owned()]), Err(BadInput(expected.clone())));
        assert_eq!(plain(vec![word.to_owned()]), Err(BadInput(expected)));
    }
    assert!(main(Vec::new()).is_err_and(|error| error.0.starts_with("a number is missing")));
}

/// Mersenne's, Fermat's, repunits and Wagstaff's, from the Cunningham tables; the last two are the
/// greatest primes of 64 and of 128 bits.
#[test]
fn published_factorisations() {
    let known: [(u128, &[u128]); 12] = [
        (8_388_607, &[47, 178_481]),
        (4_294_967_297, &[641, 6_700_417]),
        (11_111_111_111, &[21_649, 513_239]),
        (9_007_199_254_740_991, &[6_361, 69_431, 20_394_401]),
        (1_111_111_111_111_111_111, &[1_111_111_111_111_111_111]),
        ((1 << 67) - 1, &[193_707_721, 761_838_257_287]),
        ((1 << 71) - 1, &[228_479, 48_544_121, 212_885_833]),
        (((1 << 73) + 1) / 3, &[1_753, 1_795_918_038_741_070_627]),
        ((1 << 83) - 1, &[167, 57_912_614_113_275_649_087_721]),
        ((1 << 127) - 1, &[170_141_183_460_469_231_731_687_303_715_884_105_727]),
        ((1 << 64) - 59, &[(1 << 64) - 59]),
        (u128::MAX - 158, &[u128::MAX - 158]),
    ];
    for (n, expected) in known {
        assert_eq!(factors(n), expected, "{n}");
        assert_eq!(factors_plain(n), expected, "{n} without spawns");
    }
}

#[test]
fn the_open_data_set_is_factorised() {
    let folder = std::env::var_os("SATEEN_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = folder.join("primes/factors.txt");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: {} is not there; set SATEEN_DATA to the data set's folder", path.display());
        return;
    };
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut fields = line.split('\t').skip(1);
        let [n, _, expected] = [(); 3].map(|()| fields.next().expect("a field"));
        let expected: Vec<u128> = expected.split(' ').map(|word| word.parse().expect("a factor")).collect();
        assert_eq!(factors(n.parse().expect("a number")), expected, "{n}");
    }
}

#[test]
fn powers_of_large_primes_are_divided() {
    for (prime, power) in [(65_537_u128, 7), (4_294_967_291, 3), (4_294_967_311, 3), ((1 << 61) - 1, 2)] {
        assert_eq!(factors(prime.pow(power)), vec![prime; power as usize]);
    }
    assert_eq!(factors((1 << 64) - 59), [(1 << 64) - 59]);
    assert_eq!(factors(((1 << 64) - 59) * ((1 << 64) - 83)), [(1 << 64) - 83, (1 << 64) - 59]);
}

#[test]
fn factor_prints_the_same() {
    let mut state = 7_u128;
    let mut random = move || {
        state = state.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(0x5851_f42d);
        state ^ (state >> 67)
    };
    let mut numbers: Vec<String> = (0..300).map(|n: u32| n.to_string()).collect();
    // All sizes up to 64 bits, and some up to 90, above which `factor` is slow.
    numbers.extend((0..400).map(|nth| (random() >> (64 + nth % 60)).to_string()));
    numbers.extend((0..30).map(|nth| (random() >> (38 + nth % 26)).to_string()));
    let Ok(output) = Command::new("factor").args(&numbers).output() else {
        eprintln!("skipped: there is no `factor` on this machine");
        return;
    };
    let expected = String::from_utf8(output.stdout).expect("text");
    if output.status.success() {
        assert_eq!(main(numbers.clone()).expect("numbers") + "\n", expected);
        assert_eq!(plain(numbers).expect("numbers") + "\n", expected);
    } else {
        eprintln!("skipped: this machine's `factor` takes no numbers above 64 bits");
    }
}
