use std::collections::BTreeMap;
use std::fmt::Debug;
use std::panic;

trait Visit {
    fn visit(&mut self, n: u64);
}

#[derive(Default)]
struct Sum(u64);

impl Visit for Sum {
    fn visit(&mut self, n: u64) {
        self.0 += n
    }
}

struct Dropped<'a>(&'a mut Vec<u32>, u32);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.0.push(self.1)
    }
}

#[inline(never)]
fn walk(v: &mut dyn Visit, from: u64, to: u64) {
    for n in from..to {
        v.visit(n)
    }
}

#[inline(never)]
fn show<T: Debug, U: Debug>(t: T, u: U) -> String {
    format!("{t:?}/{u:?}")
}

#[inline(never)]
fn checked(v: &[u32], at: usize) -> u32 {
    v[at]
}

#[inline(never)]
fn name(n: u32) -> &'static str {
    match n {
        0 => "none",
        1 => "one",
        2 => "two",
        3 => "three",
        4 => "four",
        5 => "five",
        6 => "six",
        _ => "many",
    }
}

#[allow(dead_code)]
#[no_mangle]
pub extern "C" fn never(n: u32) -> u32 {
    n * 3
}

fn main() {
    let mut sum = Sum::default();
    walk(&mut sum, 1, 100);
    let words: BTreeMap<u32, &str> = (0..9).map(|n| (n, name(n))).collect();
    let mut order = Vec::new();
    {
        let mut first = Dropped(&mut order, 1);
        first.0.push(0);
        let second = Dropped(&mut first.0, 2);
        drop(second);
    }
    let threads: Vec<_> = (0..3u64)
        .map(|i| {
            std::thread::spawn(move || {
                let mut s = Sum::default();
                walk(&mut s, i, 10 * i);
                s.0
            })
        })
        .collect();
    let sums: Vec<u64> = threads.into_iter().map(|t| t.join().unwrap()).collect();
    print!("{} {} {} {:?} {:?}", sum.0, show(1u8, "x"), show(Some(2.5f32), 'c'), order, sums);
    println!(" {:?}", words);
    if cfg!(panic = "unwind") {
        panic::set_hook(Box::new(|_| {}));
        let caught = panic::catch_unwind(|| checked(&[1, 2, 3], 7 + std::env::args().count()));
        println!("{}", caught.is_err());
    }
}
