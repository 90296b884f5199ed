// A program of Rust for the linker's optimiser: generic code, closures, traits, a panic that
// is caught, and a function of C in a module of its own.
use std::collections::BTreeMap;
use std::hint::black_box;

trait Shape {
    fn area(&self) -> u64;
}
struct Square(u64);
struct Strip(u64, u64);
impl Shape for Square {
    #[inline(never)]
    fn area(&self) -> u64 {
        self.0 * self.0
    }
}
impl Shape for Strip {
    #[inline(never)]
    fn area(&self) -> u64 {
        if self.1 == 3 {
            panic!("a strip of three");
        }
        self.0 * self.1
    }
}

#[inline(never)]
fn fold<T: Copy, F: Fn(u64, T) -> u64>(items: &[T], f: F) -> u64 {
    let mut sum = 0;
    for &i in items {
        sum = f(sum, i);
    }
    black_box(sum)
}

#[inline(never)]
fn never(n: u64) -> u64 {
    black_box(n)
}

extern "C" {
    fn from_c(n: i32) -> i32;
}

fn main() {
    let mut shapes: Vec<Box<dyn Shape>> = Vec::new();
    for i in 0..20 {
        if i % 3 == 0 {
            shapes.push(Box::new(Square(i)));
        } else {
            shapes.push(Box::new(Strip(i, i % 7)));
        }
    }
    let mut areas = BTreeMap::new();
    let mut panics = 0;
    for (i, s) in shapes.iter().enumerate() {
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| s.area())) {
            Ok(a) => *areas.entry(a % 5).or_insert(0) += a,
            Err(_) => panics += 1 + i,
        }
    }
    if std::env::args().count() > 5 {
        println!("{}", never(1));
    }
    let sum = fold(&[1u8, 2, 3], |s, i| s + i as u64) + fold(&[10u32, 20], |s, i| s * 2 + i as u64);
    println!("{:?} {} {} {}", areas, panics, sum, unsafe { from_c(3) });
}
