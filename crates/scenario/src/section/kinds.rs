//! Lists of kinds: each has a name, and a value with the defaults of its keys.

/// Name of a kind, and its defaults.
pub(crate) type Kind<T> = (&'static str, fn() -> T);

/// Names of the kinds.
pub(crate) const fn names<T, const N: usize>(kinds: &[Kind<T>; N]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut index = 0;
    while index < N {
        names[index] = kinds[index].0;
        index += 1;
    }
    names
}

/// The defaults of the kind of this name; those of the first where there is none.
pub(crate) fn defaults<T>(kinds: &[Kind<T>], name: &str) -> T {
    let kind = kinds.iter().find(|kind| kind.0 == name).unwrap_or(&kinds[0]);
    kind.1()
}
