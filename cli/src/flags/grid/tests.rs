use super::*;

#[test]
fn choices_are_spelled_as_the_coordinator_does() {
    fn typed(choice: &impl ValueEnum) -> Option<String> {
        choice.to_possible_value().map(|value| value.get_name().to_owned())
    }
    for choice in Stealing::value_variants() {
        let sent = serde_json::json!(sateen_protocol::Stealing::from(*choice));
        assert_eq!(sent.as_str(), typed(choice).as_deref());
    }
    for choice in FaultTolerance::value_variants() {
        let sent = serde_json::json!(sateen_protocol::FaultTolerance::from(*choice));
        assert_eq!(sent.as_str(), typed(choice).as_deref());
    }
}

#[test]
fn keys_are_digits() {
    assert_eq!(parse_key("0123ABCD").as_deref(), Ok("0123abcd"));
    for wrong in ["0123abc", "0123abcx", &"0".repeat(65), "-1234567"] {
        assert!(parse_key(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn runs_are_numbers() {
    assert_eq!(parse_run("17"), Ok(17));
    assert!(parse_run("last").is_err() && parse_run("-1").is_err() && parse_run("0").is_err());
}
