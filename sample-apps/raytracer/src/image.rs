//! PNG files (ISO/IEC 15948): a header, the pixels in one deflated stream, an end.

use miniz_oxide::deflate::compress_to_vec_zlib;

/// Compression level, 0 to 10.
const EFFORT: u8 = 6;

/// A picture with `width` columns, from red, green and blue of each pixel, row by row.
pub fn png(width: u32, pixels: &[u8]) -> Vec<u8> {
    let row_bytes = width as usize * 3;
    let height = (pixels.len() / row_bytes) as u32;
    // Each row as differences from the row above, except the first: neighbours are similar.
    let mut rows = Vec::with_capacity(pixels.len() + height as usize);
    let mut above = vec![0; row_bytes];
    for row in pixels.chunks_exact(row_bytes) {
        const UP: u8 = 2;
        rows.push(UP);
        rows.extend(row.iter().zip(&above).map(|(pixel, above): (&u8, &u8)| pixel.wrapping_sub(*above)));
        above.copy_from_slice(row);
    }
    const EIGHT_BITS_RGB: [u8; 5] = [8, 2, 0, 0, 0];
    let header = [width.to_be_bytes().as_slice(), &height.to_be_bytes(), &EIGHT_BITS_RGB].concat();
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    add_chunk(&mut file, *b"IHDR", &header);
    add_chunk(&mut file, *b"IDAT", &compress_to_vec_zlib(&rows, EFFORT));
    add_chunk(&mut file, *b"IEND", &[]);
    file
}

fn add_chunk(file: &mut Vec<u8>, kind: [u8; 4], body: &[u8]) {
    file.extend((body.len() as u32).to_be_bytes());
    let checked = file.len();
    file.extend(kind);
    file.extend(body);
    let sum = checksum(&file[checked..]);
    file.extend(sum.to_be_bytes());
}

/// The CRC-32 of ISO 3309, as annex D of the standard has it.
fn checksum(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut nth = 0;
        while nth < 256 {
            let mut rest = nth as u32;
            let mut bit = 0;
            while bit < 8 {
                rest = (rest >> 1) ^ if rest & 1 == 1 { 0xedb8_8320 } else { 0 };
                bit += 1;
            }
            table[nth] = rest;
            nth += 1;
        }
        table
    };
    !bytes.iter().fold(!0, |sum: u32, byte| TABLE[((sum ^ u32::from(*byte)) & 0xff) as usize] ^ (sum >> 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_standards() {
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
    }
}
