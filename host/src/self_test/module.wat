;; The jobs of the self-test, as an app: four entry points, each of which returns a checksum of eight bytes.
;; `plain.rs` has the same computations in Rust.
(module
  (memory (export "memory") 1)
  (data (i32.const 64) "\01\08") ;; an outcome of eight bytes, which follow
  (func (export "sateen_abi_1"))

  ;; Stores a checksum as the outcome, and returns its place: ten bytes at 64.
  (func $outcome (param $sum i64) (result i64)
    (i64.store (i32.const 66) (local.get $sum))
    (i64.const 0x400000000a))

  ;; Shifts, rotations, products, quotients and counts of bits.
  (func (export "sateen_main_integer") (param i32) (result i64)
    (local $x i64) (local $sum i64) (local $i i64)
    (local.set $x (i64.const 0x9e3779b97f4a7c15))
    (local.set $i (i64.const 1))
    (loop $next
      (local.set $x (i64.xor (local.get $x) (i64.shl (local.get $x) (i64.const 13))))
      (local.set $x (i64.xor (local.get $x) (i64.shr_u (local.get $x) (i64.const 7))))
      (local.set $x (i64.xor (local.get $x) (i64.shl (local.get $x) (i64.const 17))))
      (local.set $sum
        (i64.add (i64.rotl (local.get $sum) (i64.const 5))
                 (i64.mul (local.get $x) (i64.const 0x2545f4914f6cdd1d))))
      (local.set $sum
        (i64.xor (local.get $sum)
                 (i64.div_u (local.get $x)
                            (i64.or (i64.shr_u (local.get $sum) (i64.const 40)) (i64.const 1)))))
      (local.set $sum
        (i64.add (local.get $sum)
                 (i64.extend_i32_s
                   (i32.rem_s (i32.wrap_i64 (local.get $x)) (i32.wrap_i64 (local.get $i))))))
      (local.set $sum
        (i64.sub (local.get $sum)
                 (i64.mul (i64.popcnt (local.get $x)) (i64.add (i64.clz (local.get $x)) (i64.ctz (local.get $x))))))
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br_if $next (i64.le_u (local.get $i) (i64.const 3000000))))
    (call $outcome (local.get $sum)))

  ;; A chaotic sequence, in which an error of the last bit grows at each step.
  (func (export "sateen_main_float") (param i32) (result i64)
    (local $x f64) (local $y f64) (local $decayed f64) (local $small f32) (local $sum i64) (local $i i32)
    (local.set $x (f64.const 0.4))
    (local.set $i (i32.const 3000000))
    (loop $next
      (local.set $x
        (f64.mul (f64.mul (f64.const 3.9999) (local.get $x)) (f64.sub (f64.const 1) (local.get $x))))
      (local.set $y
        (f64.div (f64.sqrt (f64.add (local.get $x) (f64.const 0.5))) (f64.add (local.get $x) (f64.const 1))))
      (local.set $decayed (f64.add (f64.mul (local.get $decayed) (f64.const 0.75)) (local.get $y)))
      (local.set $small
        (f32.add (f32.mul (f32.demote_f64 (local.get $x)) (f32.const 1.1)) (f32.const 0.3)))
      (local.set $small
        (f32.div (f32.sqrt (local.get $small)) (f32.add (local.get $small) (f32.const 1))))
      (local.set $sum
        (i64.xor (i64.rotl (local.get $sum) (i64.const 7)) (i64.reinterpret_f64 (local.get $decayed))))
      (local.set $sum
        (i64.add (local.get $sum) (i64.extend_i32_u (i32.reinterpret_f32 (local.get $small)))))
      (local.set $sum
        (i64.add (local.get $sum) (i64.trunc_f64_u (f64.nearest (f64.mul (local.get $y) (f64.const 1e9))))))
      (local.set $i (i32.sub (local.get $i) (i32.const 1)))
      (br_if $next (local.get $i)))
    (call $outcome (i64.xor (local.get $sum) (i64.reinterpret_f64 (local.get $x)))))

  ;; Four and two lanes at once.
  (func (export "sateen_main_simd") (param i32) (result i64)
    (local $a v128) (local $b v128) (local $sum v128) (local $f v128) (local $d v128) (local $i i32)
    (local.set $a (v128.const i32x4 0x01234567 0x89abcdef 0xfedcba98 0x76543210))
    (local.set $b (v128.const i32x4 1 2 3 4))
    (local.set $i (i32.const 4000000))
    (loop $next
      (local.set $a
        (i32x4.add (i32x4.mul (local.get $a) (v128.const i32x4 1664525 1664525 1664525 1664525))
                   (v128.const i32x4 1013904223 1013904223 1013904223 1013904223)))
      (local.set $b (v128.xor (local.get $b) (i32x4.shr_u (local.get $a) (i32.const 16))))
      (local.set $b
        (i8x16.shuffle 5 6 7 8 9 10 11 12 13 14 15 0 1 2 3 20 (local.get $b) (local.get $a)))
      (local.set $sum
        (i64x2.add (local.get $sum) (i64x2.extmul_low_i32x4_u (local.get $a) (local.get $b))))
      (local.set $f
        (f32x4.add (f32x4.mul (local.get $f) (v128.const f32x4 0.7 0.7 0.7 0.7))
                   (f32x4.convert_i32x4_u
                     (v128.and (local.get $b) (v128.const i32x4 0xffff 0xffff 0xffff 0xffff)))))
      (local.set $d
        (f64x2.add (f64x2.mul (local.get $d) (v128.const f64x2 0.9 0.9))
                   (f64x2.sqrt (f64x2.promote_low_f32x4 (local.get $f)))))
      (local.set $sum (v128.xor (local.get $sum) (local.get $f)))
      (local.set $sum (i64x2.add (local.get $sum) (local.get $d)))
      (local.set $i (i32.sub (local.get $i) (i32.const 1)))
      (br_if $next (local.get $i)))
    (call $outcome
      (i64.add (i64.rotl (i64x2.extract_lane 0 (local.get $sum)) (i64.const 1))
               (i64x2.extract_lane 1 (local.get $sum)))))

  ;; Four patterns, each written to 32 MiB and read back from the other end; every word differs by its address.
  (func (export "sateen_main_memory") (param i32) (result i64)
    (local $sum i64) (local $pattern i32) (local $at i32)
    (if (i32.lt_s (memory.grow (i32.const 512)) (i32.const 0)) (then (unreachable)))
    (loop $patterns
      (local.set $at (i32.const 0x10000))
      (loop $writes
        (i64.store (local.get $at) (call $word (local.get $pattern) (local.get $at)))
        (local.set $at (i32.add (local.get $at) (i32.const 8)))
        (br_if $writes (i32.lt_u (local.get $at) (i32.const 0x2010000))))
      ;; Moves the upper half over the lower one, which the second pattern shows.
      (if (i32.eq (local.get $pattern) (i32.const 1))
        (then (memory.copy (i32.const 0x10000) (i32.const 0x1010000) (i32.const 0x1000000))))
      (loop $reads
        (local.set $at (i32.sub (local.get $at) (i32.const 8)))
        (local.set $sum
          (i64.add (i64.rotl (local.get $sum) (i64.const 1)) (i64.load (local.get $at))))
        (br_if $reads (i32.gt_u (local.get $at) (i32.const 0x10000))))
      (local.set $pattern (i32.add (local.get $pattern) (i32.const 1)))
      (br_if $patterns (i32.lt_u (local.get $pattern) (i32.const 4))))
    (call $outcome (local.get $sum)))

  ;; The word of a pattern at an address: all bits change from one pattern to the next.
  (func $word (param $pattern i32) (param $at i32) (result i64)
    (i64.xor
      (i64.mul (i64.extend_i32_u (local.get $at)) (i64.const 0x9e3779b97f4a7c15))
      (select
        (select (i64.const 0) (i64.const -1) (i32.eqz (local.get $pattern)))
        (select (i64.const 0x5555555555555555) (i64.const 0xaaaaaaaaaaaaaaaa)
                (i32.eq (local.get $pattern) (i32.const 2)))
        (i32.lt_u (local.get $pattern) (i32.const 2))))))
