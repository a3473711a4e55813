//! Tokens: who may do what on a grid.

use std::fmt;
use std::str::FromStr;

use zeroize::Zeroizing;

/// Hexadecimal digits of a token's secret.
pub const TOKEN_DIGITS: usize = 64;
/// Every token begins with this, so that programs that look for secrets in files find tokens.
const PREFIX: &str = "sateen_";
/// Separates hashes of tokens from all other uses of blake3.
const HASH_CONTEXT: &str = "sateen 2026-11 hash of an access token";

/// What the holder of a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Take part as a host: open a link, and fetch the modules and inputs of runs.
    Volunteer,
    /// Publish apps, submit runs, and read and change these runs.
    Submitter,
    /// See the grid, its hosts and its runs, without results and inputs.
    Viewer,
    /// Everything, including tokens and the audit log.
    Admin,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 4] = [Self::Volunteer, Self::Submitter, Self::Viewer, Self::Admin];

    /// The scope in a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Volunteer => "volunteer",
            Self::Submitter => "submitter",
            Self::Viewer => "viewer",
            Self::Admin => "admin",
        }
    }

    /// Whether it allows to submit runs.
    pub fn submits(self) -> bool {
        matches!(self, Self::Submitter | Self::Admin)
    }

    /// The scope that this word means.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.word() == word)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The blake3 hash of a token's secret, by which coordinators store and find tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash(pub [u8; 32]);

/// A token: 256 random bits, and the scope with which it was made. The coordinator knows the scope that counts.
#[derive(Clone)]
pub struct Token {
    text: Zeroizing<String>,
    hash: TokenHash,
}

impl Token {
    /// A new token.
    ///
    /// # Errors
    /// When the system has no randomness.
    pub fn new(scope: Scope) -> Result<Self, getrandom::Error> {
        let mut secret = Zeroizing::new([0_u8; TOKEN_DIGITS / 2]);
        getrandom::fill(secret.as_mut_slice())?;
        let mut text = Zeroizing::new(String::with_capacity(PREFIX.len() + 16 + TOKEN_DIGITS));
        text.push_str(PREFIX);
        text.push_str(scope.word());
        text.push('_');
        for byte in *secret {
            for digit in [byte >> 4, byte & 15] {
                text.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
            }
        }
        Ok(Self { text, hash: TokenHash(blake3::derive_key(HASH_CONTEXT, secret.as_slice())) })
    }

    /// The token as users see it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its hash.
    pub fn hash(&self) -> TokenHash {
        self.hash
    }
}

impl FromStr for Token {
    type Err = String;

    /// Reads a token; the error does not repeat it.
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let wrong = || {
            format!(
                "not a token; a token looks like {PREFIX}SCOPE_ with {TOKEN_DIGITS} hexadecimal digits after it"
            )
        };
        let (scope, digits) =
            text.strip_prefix(PREFIX).and_then(|rest| rest.split_once('_')).ok_or_else(wrong)?;
        if Scope::parse(scope).is_none() || digits.len() != TOKEN_DIGITS {
            return Err(wrong());
        }
        let mut secret = Zeroizing::new([0_u8; TOKEN_DIGITS / 2]);
        for (byte, pair) in secret.iter_mut().zip(digits.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).ok().filter(|pair| !pair.starts_with('+'));
            *byte = pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()).ok_or_else(wrong)?;
        }
        let hash = TokenHash(blake3::derive_key(HASH_CONTEXT, secret.as_slice()));
        Ok(Self { text: Zeroizing::new(text.to_owned()), hash })
    }
}

/// Without the secret, which must not get into logs.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_as_it_was_written() {
        for scope in Scope::ALL {
            let token = Token::new(scope).expect("there is randomness");
            assert!(token.text().starts_with(&format!("sateen_{scope}_")), "{}", token.text());
            let read: Token = format!(" {}\n", token.text()).parse().expect("a token");
            assert_eq!((read.text(), read.hash()), (token.text(), token.hash()));
            assert!(!format!("{token:?}").contains(&token.text()[20..]), "the secret is in no log");
        }
        let (one, other) = (Token::new(Scope::Admin), Token::new(Scope::Admin));
        assert_ne!(one.map(|token| token.hash()).ok(), other.map(|token| token.hash()).ok());
    }

    #[test]
    fn other_texts_are_refused_and_not_repeated() {
        let digits = "0".repeat(TOKEN_DIGITS);
        for text in [
            "",
            "hunter2",
            &format!("sateen_root_{digits}"),
            &format!("sateen_admin_{}", &digits[1..]),
            &format!("sateen_admin_{digits}0"),
            &format!("sateen_admin_{}g", &digits[1..]),
            &format!("sateen_admin_+1{}", &digits[2..]),
            &format!("sateen_admin_{}é", &digits[2..]),
            &format!("xateen_admin_{digits}"),
        ] {
            let error = text.parse::<Token>().expect_err(text);
            assert!(error.contains("sateen_SCOPE_") && !error.contains("hunter2"), "{error}");
        }
    }
}
