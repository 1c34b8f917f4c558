//! SCRAM-SHA-256 (RFC 5802 and RFC 7677), as PostgreSQL speaks it: what is stored of a password, and the server's side of the
//! exchange that proves that a client knows it.
//!
//! Invariants:
//! - A password is never stored: [`secret_of`] gives what proves it, in PostgreSQL's words
//!   `SCRAM-SHA-256$<iterations>:<salt>$<stored key>:<server key>`.
//! - A role that is not there, or has no password, goes through the same exchange, with a salt that stays the same, and fails at
//!   the end ([`Verifier::mock`]): whoever asks does not learn which roles there are.
//!
//! Absent: channel binding (SCRAM-SHA-256-PLUS).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::{SecureRandom, SystemRandom};
use ring::{digest, hmac, pbkdf2};

/// The name of the mechanism.
pub const MECHANISM: &str = "SCRAM-SHA-256";

const ITERATIONS: u32 = 4096;
const SALT_BYTES: usize = 16;
const KEY_BYTES: usize = 32;

/// Returns random bytes.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).expect("the operating system has random numbers");
    bytes
}

fn sign(key: &[u8], bytes: &[u8]) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), bytes)
}

/// Returns the secret of a password, with a new salt.
pub fn secret_of(password: &str) -> String {
    let salt: [u8; SALT_BYTES] = random();
    let (stored, server) = keys(password, &salt, ITERATIONS);
    let encode = |bytes: &[u8]| STANDARD.encode(bytes);
    format!("{MECHANISM}${ITERATIONS}:{}${}:{}", encode(&salt), encode(&stored), encode(&server))
}

/// Returns the stored key and the server key of a password.
fn keys(password: &str, salt: &[u8], iterations: u32) -> (Vec<u8>, Vec<u8>) {
    // As PostgreSQL does: a password that has no normal form is used as it is.
    let normal = stringprep::saslprep(password).unwrap_or(password.into());
    let mut salted = [0; KEY_BYTES];
    let iterations = iterations.try_into().unwrap_or(std::num::NonZeroU32::MIN);
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, iterations, salt, normal.as_bytes(), &mut salted);
    let client = sign(&salted, b"Client Key");
    let stored = digest::digest(&digest::SHA256, client.as_ref());
    (stored.as_ref().to_vec(), sign(&salted, b"Server Key").as_ref().to_vec())
}

/// What a client's proof is checked with.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    iterations: u32,
    salt: Vec<u8>,
    stored: Vec<u8>,
    server: Vec<u8>,
}

impl Verifier {
    /// Reads a secret; `None` where it is none.
    pub fn of_secret(secret: &str) -> Option<Verifier> {
        let (parameters, keys) = secret.strip_prefix(MECHANISM)?.strip_prefix('$')?.split_once('$')?;
        let (iterations, salt) = parameters.split_once(':')?;
        let (stored, server) = keys.split_once(':')?;
        let decode = |text: &str| STANDARD.decode(text).ok();
        let (stored, server) = (decode(stored)?, decode(server)?);
        let is_whole = stored.len() == KEY_BYTES && server.len() == KEY_BYTES;
        let iterations = iterations.parse().ok().filter(|iterations| *iterations > 0 && is_whole)?;
        Some(Verifier { iterations, salt: decode(salt)?, stored, server })
    }

    /// Makes one that no proof satisfies, always the same for a user.
    pub fn mock(key: &[u8], user: &str) -> Verifier {
        let salt = sign(key, user.as_bytes()).as_ref()[..SALT_BYTES].to_vec();
        Verifier { iterations: ITERATIONS, salt, stored: random::<KEY_BYTES>().to_vec(), server: vec![0; KEY_BYTES] }
    }
}

/// An exchange in which the server has answered the client's first message.
pub struct Exchange {
    verifier: Verifier,
    /// The header of the client's first message, as it comes back in the last one.
    binding: String,
    client_first: String,
    server_first: String,
    nonce: String,
}

impl Exchange {
    /// Answers the first message of a client; `None` where it is malformed or asks for what is not there.
    pub fn begin(verifier: Verifier, client_first: &str) -> Option<(Exchange, String)> {
        // Either `n` or `y`: no channel binding. `p` asks for one.
        let rest = client_first.strip_prefix("n,").or_else(|| client_first.strip_prefix("y,"))?;
        let (identity, bare) = rest.split_once(',')?;
        if !identity.is_empty() || bare.starts_with("m=") {
            return None;
        }
        let client_nonce = bare.split(',').find_map(|field| field.strip_prefix("r="))?;
        if client_nonce.is_empty() {
            return None;
        }
        let nonce = format!("{client_nonce}{}", STANDARD.encode(random::<18>()));
        let answer = format!("r={nonce},s={},i={}", STANDARD.encode(&verifier.salt), verifier.iterations);
        let header = &client_first[..client_first.len() - bare.len()];
        let exchange = Exchange {
            verifier,
            binding: STANDARD.encode(header),
            client_first: bare.to_owned(),
            server_first: answer.clone(),
            nonce,
        };
        Some((exchange, answer))
    }

    /// Checks the last message of the client. Returns the server's, which proves that it knows the secret; `None` where the
    /// client does not know the password.
    pub fn finish(&self, client_final: &str) -> Option<String> {
        let (without_proof, proof) = client_final.rsplit_once(",p=")?;
        let mut fields = without_proof.split(',');
        let is_bound = fields.next()?.strip_prefix("c=")? == self.binding;
        let is_fresh = fields.next()?.strip_prefix("r=")? == self.nonce;
        let proof = STANDARD.decode(proof).ok().filter(|proof| proof.len() == KEY_BYTES)?;
        let exchanged = format!("{},{},{without_proof}", self.client_first, self.server_first);
        let signature = sign(&self.verifier.stored, exchanged.as_bytes());
        let client: Vec<u8> =
            proof.iter().zip(signature.as_ref()).map(|(proof, signature)| proof ^ signature).collect();
        let stored = digest::digest(&digest::SHA256, &client);
        if !is_bound || !is_fresh || stored.as_ref() != self.verifier.stored {
            return None;
        }
        Some(format!("v={}", STANDARD.encode(sign(&self.verifier.server, exchanged.as_bytes()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677.
    #[test]
    fn the_example_of_the_standard_is_accepted() {
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let (stored, server) = keys("pencil", &salt, 4096);
        let nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let exchange = Exchange {
            verifier: Verifier { iterations: 4096, salt, stored, server },
            binding: "biws".to_owned(),
            client_first: "n=user,r=rOprNGfwEbeRWgbNEkqO".to_owned(),
            server_first: format!("r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"),
            nonce: nonce.to_owned(),
        };
        let last = format!("c=biws,r={nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
        assert_eq!(exchange.finish(&last).unwrap(), "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
        assert_eq!(exchange.finish(&last.replace("p=d", "p=e")), None);
        assert_eq!(exchange.finish(&last.replace("c=biws", "c=eSws")), None);
    }

    #[test]
    fn a_secret_is_read_as_it_was_written() {
        let verifier = Verifier::of_secret(&secret_of("pencil")).unwrap();
        let (stored, server) = keys("pencil", &verifier.salt, verifier.iterations);
        assert!((stored, server) == (verifier.stored, verifier.server));
        for wrong in ["", "md5", "SCRAM-SHA-256$4096:AA==$AA==:AA==", "SCRAM-SHA-256$0:AA==$AA==:AA=="] {
            assert!(Verifier::of_secret(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_mock_is_the_same_for_a_user() {
        let salt = |user: &str| Verifier::mock(b"key", user).salt;
        assert!(salt("ada") == salt("ada") && salt("ada") != salt("bob"));
    }

    #[test]
    fn channel_binding_and_other_identities_are_refused() {
        for first in ["p=tls-unique,,n=,r=abc", "n,a=root,n=,r=abc", "n,,m=x,n=,r=abc", "n,,n=,r=", "n,,n=", "", "n,"] {
            assert!(Exchange::begin(Verifier::mock(b"key", "ada"), first).is_none(), "{first}");
        }
    }
}
