//! Interleavings of readers and updates, by loom: the group's own modules over loom's primitives. `arc-swap`
//! itself, whose pointer a lock stands for here, is tested by its authors.

use loom::sync::Arc;
use loom::thread;

#[path = "../../../src/group/owned.rs"]
mod owned;
#[path = "../../../src/group/published.rs"]
mod published;

/// Stands for `src/group/sync.rs`.
mod sync {
    pub(super) use loom::sync::{Arc, Mutex, MutexGuard, RwLock};
    use std::ops::Deref;

    pub(super) struct Pointer<T>(RwLock<Arc<T>>);

    pub(super) struct Loaded<T>(Arc<T>);

    impl<T> Deref for Loaded<T> {
        type Target = T;

        fn deref(&self) -> &T {
            &self.0
        }
    }

    pub(super) struct Cached<'p, T>(&'p Pointer<T>, Loaded<T>);

    impl<T> Pointer<T> {
        pub(super) fn new(value: T) -> Self {
            Self(RwLock::new(Arc::new(value)))
        }

        pub(super) fn load(&self) -> Loaded<T> {
            Loaded(Arc::clone(&self.0.read().unwrap()))
        }

        pub(super) fn cached(&self) -> Cached<'_, T> {
            Cached(self, self.load())
        }

        pub(super) fn store(&self, value: T) {
            *self.0.write().unwrap() = Arc::new(value);
        }
    }

    impl<T> Clone for Pointer<T> {
        fn clone(&self) -> Self {
            Self(RwLock::new(self.load().0))
        }
    }

    impl<T> Cached<'_, T> {
        pub(super) fn load(&mut self) -> &T {
            self.1 = self.0.load();
            &self.1
        }
    }

    pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap()
    }
}

use owned::Owned;
use published::Published;

/// Number of the update, in both halves.
type Plan = (u32, u32);

#[expect(clippy::unnecessary_wraps, reason = "an update may fail")]
fn next(plan: &Plan) -> Result<Plan, ()> {
    Ok((plan.0 + 1, plan.1 + 1))
}

/// Runs `model` in every interleaving with up to three preemptions, which is more than the known errors need.
fn explore(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

#[test]
fn no_update_is_lost() {
    explore(|| {
        let plan = Arc::new(Published::<Plan>::new((0, 0)));
        let other = Arc::clone(&plan);
        let update = thread::spawn(move || other.update(next).unwrap());
        plan.update(next).unwrap();
        assert!(plan.load().0 >= 1, "a thread sees its own update");
        update.join().unwrap();
        assert_eq!(*plan.load(), (2, 2));
    });
}

#[test]
fn readers_see_whole_plans_in_their_order() {
    explore(|| {
        let plan = Arc::new(Published::<Plan>::new((0, 0)));
        let other = Arc::clone(&plan);
        let updates = thread::spawn(move || (0..2).for_each(|_| other.update(next).unwrap()));
        let mut cached = plan.cached();
        let mut last = 0;
        for _ in 0..2 {
            for (first, second) in [*cached.load(), *plan.load()] {
                assert!(first == second && first >= last, "{first} {second} after {last}");
                last = first;
            }
        }
        updates.join().unwrap();
        assert_eq!((*cached.load(), *plan.load()), ((2, 2), (2, 2)));
    });
}

#[test]
fn a_copy_does_not_follow() {
    explore(|| {
        let plan = Arc::new(Published::<Plan>::new((0, 0)));
        let other = Arc::clone(&plan);
        let update = thread::spawn(move || other.update(next).unwrap());
        let copy = (*plan).clone();
        let copied = *copy.load();
        assert_eq!(copied.0, copied.1);
        update.join().unwrap();
        assert_eq!(*copy.load(), copied);
        copy.update(|_| Ok::<_, ()>((9, 9))).unwrap();
        assert_eq!(*plan.load(), (1, 1));
    });
}

#[test]
fn an_update_that_fails_changes_nothing_beside_one_that_does_not() {
    explore(|| {
        let plan = Arc::new(Published::<Plan>::new((0, 0)));
        let other = Arc::clone(&plan);
        let update = thread::spawn(move || other.update(next).unwrap());
        assert_eq!(plan.update(|_| Err("refused")), Err("refused"));
        update.join().unwrap();
        assert_eq!(*plan.load(), (1, 1));
    });
}

#[test]
fn one_thread_at_a_time_has_what_is_owned() {
    explore(|| {
        let counts = Arc::new(Owned::<Plan>::new((0, 0)));
        let threads = [(); 2].map(|()| {
            let counts = Arc::clone(&counts);
            thread::spawn(move || {
                for _ in 0..2 {
                    let mut counts = counts.lock();
                    assert_eq!(counts.0, counts.1);
                    counts.0 += 1;
                    thread::yield_now();
                    counts.1 += 1;
                }
            })
        });
        let mut copy = (*counts).clone();
        let copied = *copy.get_mut();
        assert_eq!(copied.0, copied.1);
        let _ = threads.map(|thread| thread.join().unwrap());
        assert_eq!(*counts.lock(), (4, 4));
        assert_eq!(*copy.get_mut(), copied, "a copy does not follow");
    });
}
