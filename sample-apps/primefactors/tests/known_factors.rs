//! Factorisations that others have published, and those of coreutils' `factor`.

use std::path::PathBuf;
use std::process::Command;

use primefactors::{Number, Prime, factors, factors_plain, main, plain, wide_factors, wide_factors_plain};
use ruint::aliases::U512;
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
fn other_words_are_refused() {
    let above = format!("1{}", "0".repeat(180)); // 598 bits
    let words = ["", "+", "-1", "x", "1.5", "0x10", "1_000", &above];
    for word in words {
        let expected = format!("`{word}` is not a whole number from 0 to 2^512 - 1 (512 bits, 155 digits)");
        assert_eq!(main(vec!["7".to_owned(), word.to_owned()]), Err(BadInput(expected.clone())));
        assert_eq!(plain(vec![word.to_owned()]), Err(BadInput(expected)));
    }
    assert!(main(Vec::new()).is_err_and(|error| error.0.starts_with("a number is missing")));
}

#[test]
fn signs_and_leading_zeros_are_accepted() {
    let zeros = format!("{}12", "0".repeat(600));
    for (word, expected) in [("+12", "12: 2 2 3"), ("0012", "12: 2 2 3"), (&zeros, "12: 2 2 3"), ("00", "0:")]
    {
        assert_eq!(main(vec![word.to_owned()]).as_deref(), Ok(expected));
    }
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

/// The entry points' output for numbers above 128 bits: 2^n − 1, 2^n + 1 and others, from the same tables.
const PRINTED: [(&str, &str); 9] = [
    // 2^128 + 1
    ("340282366920938463463374607431768211457", "59649589127497217 5704689200685129054721"),
    // 2^256 + 1
    (
        "115792089237316195423570985008687907853269984665640564039457584007913129639937",
        "1238926361552897 93461639715357977769163558199606896584051237541638188580280321",
    ),
    // 2^157 − 1
    (
        "182687704666362864775460604089535377456991567871",
        "852133201 60726444167 1654058017289 2134387368610417",
    ),
    // 2^199 − 1
    (
        "803469022129495137770981046170581301261101496891396417650687",
        "164504919713 4884164093883941177660049098586324302977543600799",
    ),
    // 2^239 − 1
    (
        "883423532389192164791648750371459257913741948437809479060803100646309887",
        "479 1913 5737 176383 134000609 7110008717824458123105014279253754096863768062879",
    ),
    // 2^480 − 1
    (
        "3121748550315992231381597229793166305748598142664971150859156959625371738819765620120306103063491971159826931121406622895447975679288285306290175",
        "3 3 5 5 7 11 13 17 31 41 61 97 151 193 241 257 331 673 1321 23041 61681 65537 414721 \
         22253377 394783681 4278255361 4562284561 46908728641 44479210368001 \
         14768784307009061644318236958041601",
    ),
    // (2^167 + 1) / 3
    (
        "62357403192785191176690552862561408838653121833643",
        "62357403192785191176690552862561408838653121833643",
    ),
    // (2^173 + 1) / 3
    (
        "3990873804338252235308195383203930165673799797353131",
        "347 4153 35374479827 47635010587 1643464247728189221623609",
    ),
    // (10^61 − 1) / 9
    (
        "1111111111111111111111111111111111111111111111111111111111111",
        "733 4637 329401 974293 1360682471 106007173861643 7061709990156159479",
    ),
];

#[test]
fn published_factorisations_above_128_bits() {
    let numbers: Vec<String> = PRINTED.iter().map(|(number, _)| (*number).to_owned()).collect();
    let expected: Vec<String> =
        PRINTED.iter().map(|(number, factors)| format!("{number}: {factors}")).collect();
    assert_eq!(main(numbers.clone()).as_deref(), Ok(&*expected.join("\n")));
    assert_eq!(plain(numbers).as_deref(), Ok(&*expected.join("\n")));
}

#[test]
fn the_open_data_set_is_factorised() {
    let folder = std::env::var_os("SATEEN_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = folder.join("primes/factors.txt");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: {} does not exist; set SATEEN_DATA to the data set's folder", path.display());
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

/// Of 100 to 127 bits: curves alone would take days.
#[test]
fn powers_of_large_primes_are_divided_by_roots() {
    let (p, q) = ((1_u128 << 100) - 15, (1_u128 << 127) - 1);
    for (prime, power) in [(p, 2), (p, 5), (q, 2), (q, 4)] {
        let n = raised(prime, power);
        assert_eq!(values(&wide_factors(n)), vec![Number::from(prime); power]);
        assert_eq!(wide_factors(n), wide_factors_plain(n));
    }
}

#[test]
fn primes_above_128_bits_are_proved_or_said_to_be_probable() {
    let is_proved = |n: &str| {
        let primes = wide_factors(Number::from(n.to_owned()));
        assert_eq!(values(&primes), [Number::from(n.to_owned())], "{n}");
        primes[0].is_proved
    };
    // The large factor of 2^256 + 1, and 2^512 − 569, for whose predecessor too few factors are found.
    assert!(is_proved("93461639715357977769163558199606896584051237541638188580280321"));
    assert!(!is_proved(&Number(U512::MAX - U512::from(568)).to_string()));
}

fn values(primes: &[Prime]) -> Vec<Number> {
    primes.iter().map(|prime| prime.value).collect()
}

fn raised(base: u128, power: usize) -> Number {
    Number((0..power).map(|_| Number::from(base).0).product())
}

#[test]
fn factor_prints_the_same() {
    let mut random = random(7);
    let mut numbers: Vec<String> = (0..300).map(|n: u32| n.to_string()).collect();
    // All sizes up to 64 bits, and some up to 90, above which `factor` is slow.
    numbers.extend((0..400).map(|nth| (random() >> (64 + nth % 60)).to_string()));
    numbers.extend((0..30).map(|nth| (random() >> (38 + nth % 26)).to_string()));
    compare_with_factor(&numbers);
}

/// Products of divisors that `factor` finds at once.
#[test]
fn factor_prints_the_same_above_128_bits() {
    let mut random = random(11);
    let products = (5..16).map(|count| {
        let product: U512 = (0..count).map(|_| U512::from(random() >> 98)).product();
        product * U512::from(random() >> 92)
    });
    compare_with_factor(&products.map(|product| product.to_string()).collect::<Vec<_>>());
}

fn random(mut state: u128) -> impl FnMut() -> u128 {
    move || {
        state = state.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(0x5851_f42d);
        state ^ (state >> 67)
    }
}

fn compare_with_factor(numbers: &[String]) {
    let Ok(output) = Command::new("factor").args(numbers).output() else {
        eprintln!("skipped: there is no `factor` on this machine");
        return;
    };
    let expected = String::from_utf8(output.stdout).expect("text");
    if output.status.success() {
        assert_eq!(main(numbers.to_vec()).expect("numbers") + "\n", expected);
        assert_eq!(plain(numbers.to_vec()).expect("numbers") + "\n", expected);
    } else {
        eprintln!("skipped: this machine's `factor` does not accept numbers above 64 bits");
    }
}
