//! Who may call.

use std::path::Path;

use sha2::{Digest, Sha256};
use tonic::{Request, Status};

use crate::DaemonError;
use crate::config::Config;

/// A token that callers must show in `authorization: Bearer <token>`.
#[derive(Clone)]
pub struct Token {
    digest: [u8; 32],
}

impl Token {
    /// The token in a file, without white space around it.
    pub fn read(path: &Path) -> Result<Self, DaemonError> {
        let text = std::fs::read_to_string(path).map_err(DaemonError::io(path, "read"))?;
        match text.trim() {
            "" => Err(DaemonError::Config {
                message: format!("{}: wanted a token, found nothing", path.display()),
            }),
            token => Ok(Self::new(token)),
        }
    }

    /// This token.
    pub fn new(token: &str) -> Self {
        let digest = Sha256::digest(token).into();
        Self { digest }
    }

    fn fits(&self, shown: &str) -> bool {
        // Digests are compared, so that the time this takes says nothing about the token.
        <[u8; 32]>::from(Sha256::digest(shown)) == self.digest
    }
}

/// Lets a call in: with the token, where there is one.
pub fn check(token: Option<&Token>, request: Request<()>) -> Result<Request<()>, Status> {
    let Some(token) = token else {
        return Ok(request);
    };
    let shown = request.metadata().get("authorization");
    let shown = shown.and_then(|value| value.to_str().ok());
    match shown.and_then(|value| value.strip_prefix("Bearer ")) {
        Some(shown) if token.fits(shown) => Ok(request),
        Some(_) => Err(Status::unauthenticated("the token is another one")),
        None => Err(Status::unauthenticated(
            "a token is needed: authorization: Bearer <token>",
        )),
    }
}

/// Refuses to listen beyond this machine where nothing says who may call.
pub fn check_exposure(config: &Config, insecure: bool) -> Result<(), DaemonError> {
    let mutual = config
        .tls
        .as_ref()
        .is_some_and(|tls| tls.client_ca.is_some());
    if config.listen.is_local() || config.token_file.is_some() || mutual || insecure {
        return Ok(());
    }
    Err(DaemonError::Open {
        address: config.listen.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(authorization: Option<&str>) -> Request<()> {
        let mut request = Request::new(());
        if let Some(value) = authorization {
            let value = value.parse().expect("plain text");
            request.metadata_mut().insert("authorization", value);
        }
        request
    }

    #[test]
    fn only_the_token_lets_a_call_in() {
        let token = Token::new("secret");
        assert!(check(Some(&token), request(Some("Bearer secret"))).is_ok());
        for wrong in [
            None,
            Some(""),
            Some("secret"),
            Some("Bearer "),
            Some("Bearer secret "),
        ] {
            let refused = check(Some(&token), request(wrong)).map(drop);
            let code = refused.expect_err("it is wrong").code();
            assert_eq!(code, tonic::Code::Unauthenticated, "{wrong:?}");
        }
        assert!(check(None, request(None)).is_ok());
    }

    #[test]
    fn listening_to_everyone_must_be_meant() {
        let open = |text: &str, insecure| {
            let config = Config::parse(text).expect("it is taken");
            check_exposure(&config, insecure).is_err()
        };
        let public = "[daemon]\nlisten = \"0.0.0.0:9820\"\n";
        let with = |line: &str| format!("{public}{line}");
        assert!(open(public, false));
        assert!(!open(public, true));
        assert!(!open(&with("token_file = \"t\""), false));
        assert!(open(&with("tls_cert = \"c\"\ntls_key = \"k\""), false));
        assert!(!open(
            &with("tls_cert = \"c\"\ntls_key = \"k\"\ntls_client_ca = \"a\""),
            false
        ));
        assert!(!open("[daemon]\nlisten = \"unix:///x\"", false));
        assert!(!open("", false));
    }
}
