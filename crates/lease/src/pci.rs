//! The address of a device on the PCI bus: the identity of the physical device.

use std::fmt;
use std::str::FromStr;

/// A device's place on the PCI bus, written `0000:1b:00.0`: domain, bus, device and function in hexadecimal digits.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PciBusId {
    /// The domain.
    pub domain: u32,
    /// The bus.
    pub bus: u8,
    /// The device on the bus.
    pub device: u8,
    /// The function of the device.
    pub function: u8,
}

/// A text that is no PCI bus id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsePciBusIdError {
    /// What was found.
    pub found: String,
}

impl FromStr for PciBusId {
    type Err = ParsePciBusIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or_else(|| ParsePciBusIdError {
            found: text.chars().take(64).collect(),
        })
    }
}

fn parse(text: &str) -> Option<PciBusId> {
    let (domain, rest) = text.split_once(':')?;
    let (bus, rest) = rest.split_once(':')?;
    let (device, function) = rest.split_once('.')?;
    Some(PciBusId {
        domain: digits(domain, 4..=8)?,
        bus: digits(bus, 2..=2)?.try_into().ok()?,
        device: digits(device, 2..=2)?.try_into().ok()?,
        function: digits(function, 1..=1)?.try_into().ok()?,
    })
}

fn digits(text: &str, length: std::ops::RangeInclusive<usize>) -> Option<u32> {
    let hexadecimal = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let fits = hexadecimal && length.contains(&text.len());
    fits.then(|| u32::from_str_radix(text, 16).ok()).flatten()
}

impl fmt::Display for PciBusId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            domain,
            bus,
            device,
            function,
        } = self;
        write!(
            formatter,
            "{domain:04x}:{bus:02x}:{device:02x}.{function:x}"
        )
    }
}

impl fmt::Display for ParsePciBusIdError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = &self.found;
        write!(
            formatter,
            "wanted a PCI bus id such as 0000:1b:00.0, found {found:?}"
        )
    }
}

impl std::error::Error for ParsePciBusIdError {}
