//! The inputs of state machines and decoders in a story, in the form that fuzz targets read.

use std::fs;
use std::path::Path;

use sateen_protocol::codec::encode;
use sateen_protocol_harness::record::Record;
use serde::Serialize;

use crate::world::Wire;

#[derive(Default)]
pub struct Seeds {
    pub hosts: Vec<Record>,
    pub coordinators: Vec<Record>,
    /// Frames, each after its length: between hosts, to hosts, and to the coordinator.
    frames: [Vec<u8>; 3],
}

impl Seeds {
    /// Notes a message that is sent.
    pub fn frame(&mut self, wire: &Wire) {
        match wire {
            Wire::Peer(_, _, message) => add(&mut self.frames[0], message),
            Wire::Down(_, message) => add(&mut self.frames[1], message),
            Wire::Up(_, message) => add(&mut self.frames[2], message),
            Wire::Close(_) => {}
        }
    }

    /// Writes one file for each machine and each direction into folders named as the fuzz targets.
    pub fn write(&self, folder: &Path, story: &str) {
        let story = story.replace(['/', '.'], "-");
        let records = |records: &[Record]| records.iter().map(|record| record.bytes().to_vec()).collect();
        let hosts: Vec<Vec<u8>> = records(&self.hosts);
        let coordinators: Vec<Vec<u8>> = records(&self.coordinators);
        for (target, seeds) in
            [("host", &hosts), ("coordinator", &coordinators), ("frames", &self.frames.to_vec())]
        {
            let folder = folder.join(target);
            fs::create_dir_all(&folder).expect("the folder for seeds can be made");
            for (index, seed) in seeds.iter().enumerate().filter(|(_, seed)| !seed.is_empty()) {
                fs::write(folder.join(format!("{story}-{index}")), seed).expect("a seed can be written");
            }
        }
    }
}

fn add<M: Serialize>(bytes: &mut Vec<u8>, message: &M) {
    for frame in encode(message).expect("no message of a story is too long to be sent") {
        // Long frames are not good seeds.
        let Ok(length) = u16::try_from(frame.len()) else { return };
        bytes.extend(length.to_le_bytes());
        bytes.extend(frame);
    }
}
