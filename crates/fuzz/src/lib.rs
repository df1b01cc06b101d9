//! Reads files that others wrote. Each function takes the bytes of a file, and panics where the library or the command goes wrong.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a panic is the finding")]

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use caffemodel::{At, Kind, Model, Part};
use syncedmem_core::encoding::{Decoder, Encoding, choose, encode};

/// A model file: every array that it has is read.
pub fn model(file: &[u8]) {
    for kind in
        [None, Some(Kind::Net), Some(Kind::Blobs), Some(Kind::Blob), Some(Kind::SolverState), Some(Kind::InitNet)]
    {
        let Ok(model) = Model::from_bytes(file.to_vec(), "fuzzed", kind) else { continue };
        for (layer, found) in model.layers().iter().enumerate() {
            (0..found.texts().map_or(0, |texts| texts.count())).for_each(|text| drop(model.text(layer, text).unwrap()));
            for (blob, part) in (0..found.blobs().len()).flat_map(|blob| [(blob, Part::Data), (blob, Part::Diff)]) {
                let _ = found.shape_in_net(blob);
                let at = At { layer, blob, part };
                // A ConstantFill announces values that the file does not hold.
                let Some(array) = model.array(at).ok().filter(|array| array.bytes() < 1 << 20) else { continue };
                let (count, bytes) = (array.count() as usize, array.bytes() as usize);
                if model.read_bytes(at, 0, &mut vec![0; bytes]).is_ok() {
                    model.read_f32(at, count as u64 / 2, &mut vec![0.0; count - count / 2]).unwrap();
                    model.read_f64(at, 0, &mut vec![0.0; count / 2]).unwrap();
                }
            }
        }
    }
}

/// A safetensors or npz file: `syncedmem model import` writes a whole model or none.
pub fn arrays(file: &[u8]) {
    let like = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/model/net");
    let format = if file.starts_with(b"PK") { "npz" } else { "safetensors" };
    command(file, "model import --partial --from", &[format, "--like", like], |new, status| {
        assert_eq!(new.exists(), status == ExitCode::SUCCESS);
        if new.exists() {
            assert_eq!(Model::open(new).unwrap().layers().len(), Model::open(like).unwrap().layers().len());
        }
    });
}

/// Words that come back from their encoding, and encoded words that may be damaged. The first byte chooses the encoding.
pub fn encoding(file: &[u8]) {
    let words: Vec<u32> = file.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    if let Some(choice) = choose(&words) {
        let (mut encoded, mut decoded) = (vec![u32::MAX; choice.words], vec![u32::MAX; words.len()]);
        encode(choice.encoding, &words, &mut encoded);
        Decoder::new(choice.encoding, &encoded, words.len()).fill(&mut decoded);
        assert!(decoded == words && Decoder::new(choice.encoding, &encoded, words.len()).are_next(&words));
    }
    let encodings = [Encoding::Runs, Encoding::Zeros, Encoding::Small];
    let (first, second) =
        (file.first().map_or(0, |&byte| usize::from(byte)), file.get(1).map_or(0, |&byte| byte.into()));
    let mut decoder = Decoder::new(encodings[first % 3], &words, first * 64);
    decoder.fill(&mut vec![0; second]);
    decoder.are_next(&vec![0; first * 64]);
}

/// A recording: `syncedmem report` and `export` read it.
pub fn recording(file: &[u8]) {
    for way in ["report --text", "report --json", "report", "export"] {
        command(file, way, &[], |_, _| {});
    }
}

/// A program or library: `syncedmem doctor` examines it, and the take-over looks for functions.
pub fn program(file: &[u8]) {
    let _ = (syncedmem_caffe_file::entries::find(file), syncedmem_caffe_file::hooks::find(file));
    command(file, "doctor", &[], |_, _| {});
}

/// Runs a command of `syncedmem` on the file, and gives `check` the path of its output and its status.
fn command(file: &[u8], words: &str, more: &[&str], check: impl FnOnce(&Path, ExitCode)) {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let [input, output] = ["in", "out"].map(|name| folder.path().join(name));
    std::fs::write(&input, file).unwrap();
    let writes = !words.starts_with("doctor");
    let mut arguments: Vec<OsString> = ["syncedmem"].into_iter().chain(words.split(' ')).map(OsString::from).collect();
    arguments.extend(more.iter().map(OsString::from));
    if writes {
        arguments.extend(["-o".into(), output.clone().into()]);
    }
    arguments.push(input.into());
    check(&output, syncedmem_command::run(&arguments));
}
