//! Files of JSON: payloads, the list of published keys, development marks. A file has many forms; what is accepted is held
//! to the one that is written.

use std::path::Path;

use cuzk_params::{DevelopmentMark, FileDigest, KeyName, ParameterFiles};
use cuzk_synth::Payload;

/// The name that errors give to the bytes.
const NAME: &str = "fuzz.json";

/// A payload file: the text that an accepted payload is written as is accepted and written the same.
pub fn payload_file(data: &[u8]) {
    if let Ok(payload) = Payload::from_json(data) {
        let text = payload.to_json();
        let again = Payload::from_json(text.as_bytes()).expect("what is written is accepted");
        assert_eq!(again.to_json(), text);
    }
}

/// A parameters.json: accepted names and digests are what their text says.
pub fn manifest(data: &[u8]) {
    if let Ok(files) = ParameterFiles::parse(Path::new(NAME), data) {
        for (name, file) in files.iter() {
            let parsed: KeyName = name.to_string().parse().expect("a name");
            assert_eq!(parsed, *name);
            let digest: FileDigest = file.digest.to_string().parse().expect("a digest");
            assert_eq!(digest, file.digest);
            assert_eq!(files.get(name), Some(file));
        }
    }
}

/// A development mark: what an accepted mark is written as is the same mark.
pub fn mark(data: &[u8]) {
    if let Ok(mark) = DevelopmentMark::parse(Path::new(NAME), data) {
        let json = serde_json::to_vec(&mark).expect("text has a JSON form");
        let again = DevelopmentMark::parse(Path::new(NAME), &json).expect("a mark");
        assert_eq!(again, mark);
    }
}
