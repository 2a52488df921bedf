//! Addresses as people write them.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;

/// Where a daemon listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A unix socket.
    Unix(PathBuf),
    /// A TCP port.
    Tcp(SocketAddr),
}

/// A text that is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("wanted unix:///path or host:port, found {found:?}")]
pub struct NotAnAddress {
    /// What was found.
    pub found: String,
}

impl Address {
    /// Whether only this machine can reach it.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Unix(_) => true,
            Self::Tcp(address) => address.ip().is_loopback(),
        }
    }
}

impl FromStr for Address {
    type Err = NotAnAddress;

    fn from_str(text: &str) -> Result<Self, NotAnAddress> {
        let wrong = || NotAnAddress {
            found: text.to_owned(),
        };
        if let Some(path) = text.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return match path.starts_with('/') {
                true => Ok(Self::Unix(path.into())),
                false => Err(wrong()),
            };
        }
        let text = text.strip_prefix("tcp://").unwrap_or(text);
        let mut found = text.to_socket_addrs().map_err(|_| wrong())?;
        found.next().map(Self::Tcp).ok_or_else(wrong)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
            Self::Tcp(address) => address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_read_back() {
        for (text, wanted, local) in [
            ("unix:///run/cuzk.sock", "unix:///run/cuzk.sock", true),
            ("unix:/run/a b.sock", "unix:///run/a b.sock", true),
            ("127.0.0.1:9820", "127.0.0.1:9820", true),
            ("tcp://[::1]:1", "[::1]:1", true),
            ("0.0.0.0:9820", "0.0.0.0:9820", false),
            ("10.1.2.3:80", "10.1.2.3:80", false),
        ] {
            let address: Address = text.parse().expect(text);
            assert_eq!(
                (address.to_string().as_str(), address.is_local()),
                (wanted, local)
            );
            assert_eq!(address.to_string().parse(), Ok(address));
        }
        for text in [
            "",
            "unix:",
            "unix://relative",
            "127.0.0.1",
            "127.0.0.1:99999",
            "/run/x",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
