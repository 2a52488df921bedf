//! The four proof types for which payloads are made.

use crate::SynthError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A proof type of Filecoin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Proof of replication: a sector was sealed.
    #[serde(rename = "porep")]
    PoRep,
    /// Proof of spacetime over one partition of a deadline's sectors.
    WindowPost,
    /// Proof of spacetime over the one sector that wins a block.
    WinningPost,
    /// SnapDeals: data was encoded into a sealed sector.
    Snap,
}

impl Kind {
    /// All kinds, in the order in which tables list them.
    pub const ALL: [Kind; 4] = [Kind::PoRep, Kind::WindowPost, Kind::WinningPost, Kind::Snap];

    /// The name, which is also its form in JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::PoRep => "porep",
            Kind::WindowPost => "window-post",
            Kind::WinningPost => "winning-post",
            Kind::Snap => "snap",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Kind {
    type Err = SynthError;

    fn from_str(text: &str) -> Result<Self, SynthError> {
        Kind::ALL
            .into_iter()
            .find(|kind| kind.name() == text)
            .ok_or_else(|| SynthError::Name {
                what: "kind",
                wanted: "porep, window-post, winning-post, snap",
                found: text.to_owned(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_json_and_parsing_agree() -> Result<(), Box<dyn std::error::Error>> {
        for kind in Kind::ALL {
            assert_eq!(kind.name().parse::<Kind>()?, kind);
            assert_eq!(serde_json::to_string(&kind)?, format!("\"{kind}\""));
        }
        assert!("PoRep".parse::<Kind>().is_err());
        Ok(())
    }
}
