//! Under which path hooks call this program.
//!
//! The path goes into a file that lives longer than this version of the program. So a path that stays the
//! same over upgrades is wanted: a place in PATH, or a link through which the program was called, and not
//! the folder of one version that the link leads to.

use std::env;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result};

/// The path to write into hooks.
///
/// # Errors
///
/// If this program's own file cannot be found.
pub(in crate::commands) fn stable() -> Result<PathBuf> {
    let own = own()?;
    let called = env::args_os().next().map(PathBuf::from);
    let path = env::var_os("PATH").unwrap_or_default();
    let name = own.file_name().unwrap_or_default();
    Ok(best(&own, candidates(&own, called.as_deref(), &path, name)))
}

/// This program's own file.
pub(super) fn own() -> Result<PathBuf> {
    env::current_exe().context("cannot find this program's own file")
}

/// What the program of a hook's command is, as seen from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands) enum Found {
    /// This program.
    Own,
    /// A program, but another one.
    Other,
    /// Nothing that can be run.
    Nothing,
}

/// Looks for the program that a shell would run for `word`.
pub(in crate::commands) fn find(word: &str) -> Result<Found> {
    let own = own()?;
    let path = env::var_os("PATH").unwrap_or_default();
    let found = if word.contains('/') || cfg!(windows) && word.contains('\\') {
        is_program(Path::new(word)).then(|| PathBuf::from(word))
    } else {
        in_path(&path, OsStr::new(word)).next()
    };
    Ok(match found {
        Some(found) if is_same(&found, &own) => Found::Own,
        Some(_) => Found::Other,
        None => Found::Nothing,
    })
}

/// All absolute paths that lead to this program, the preferred first.
fn candidates(own: &Path, called: Option<&Path>, path: &OsStr, name: &OsStr) -> Vec<PathBuf> {
    let mut names = vec![OsStr::new("linelamp"), name];
    names.extend(called.and_then(Path::file_name));
    let in_path = names.into_iter().flat_map(|name| in_path(path, name));
    // A call by bare name came through PATH, which was looked at.
    let called = called.filter(|called| called.components().count() > 1);
    let called = called.and_then(|called| std::path::absolute(called).ok());
    in_path.chain(called).filter(|found| is_same(found, own)).collect()
}

/// The first that names no version; else the first; else the file itself.
fn best(own: &Path, candidates: Vec<PathBuf>) -> PathBuf {
    let stable = candidates.iter().find(|path| !is_versioned(path)).cloned();
    stable.or_else(|| candidates.into_iter().next()).unwrap_or_else(|| own.to_owned())
}

/// Programs of this name, in the order in which a shell looks for them. Relative entries of PATH mean
/// another folder for everybody, so they are no place for a hook.
fn in_path<'a>(path: &'a OsStr, name: &'a OsStr) -> impl Iterator<Item = PathBuf> + 'a {
    env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(move |folder| folder.join(name))
        .filter(|found| is_program(found))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

/// True if a folder on the way is named after a version or after content, and so goes with an upgrade.
fn is_versioned(path: &Path) -> bool {
    path.parent().into_iter().flat_map(Path::components).any(|part| match part {
        Component::Normal(name) => {
            let name = name.to_string_lossy();
            has_version(&name) || has_hash(&name)
        }
        _ => false,
    })
}

/// Two numbers with a dot between them.
fn has_version(name: &str) -> bool {
    name.as_bytes()
        .windows(3)
        .any(|three| three[1] == b'.' && three[0].is_ascii_digit() && three[2].is_ascii_digit())
}

/// A word of 32 or more letters and digits, with some of both.
fn has_hash(name: &str) -> bool {
    name.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| {
        word.len() >= 32
            && word.bytes().any(|byte| byte.is_ascii_digit())
            && word.bytes().any(|byte| byte.is_ascii_alphabetic())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_one_version_is_known_by_its_name() {
        for path in [
            "/opt/linelamp-0.3.1/bin/linelamp",
            "/opt/homebrew/Cellar/linelamp/1.2/bin/linelamp",
            "/nix/store/0c5b8qs4l0y8ndrkvl6w6w7j8hg2v2lr-linelamp/bin/linelamp",
            "/home/u/.local/share/tools/v2.0/linelamp",
        ] {
            assert!(is_versioned(Path::new(path)), "{path}");
        }
        for path in [
            "/usr/local/bin/linelamp",
            "/home/u/.cargo/bin/linelamp",
            "/home/u/x86_64/bin/linelamp",
            "/run/current-system/sw/bin/linelamp",
            "/usr/bin/linelamp-0.3",
        ] {
            assert!(!is_versioned(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn a_stable_path_is_preferred_and_any_is_better_than_none() {
        let own = Path::new("/opt/l-0.1/linelamp");
        let paths = |list: &[&str]| list.iter().map(PathBuf::from).collect::<Vec<_>>();
        for (candidates, want) in [
            (&["/opt/l-0.1/linelamp", "/usr/bin/linelamp"][..], "/usr/bin/linelamp"),
            (&["/a/linelamp", "/b/linelamp"], "/a/linelamp"),
            (&["/x-0.1/bin/linelamp"], "/x-0.1/bin/linelamp"),
            (&[], "/opt/l-0.1/linelamp"),
        ] {
            assert_eq!(best(own, paths(candidates)), Path::new(want));
        }
    }

    #[cfg(unix)]
    #[test]
    fn only_paths_that_lead_to_this_very_file_count() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};

        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a folder");
        for name in ["real", "link", "other", "dead", "plain"] {
            std::fs::create_dir(root.join(name)).expect("a folder");
        }
        let own = root.join("real/linelamp");
        let program = |path: &Path, mode| {
            std::fs::write(path, "").expect("a file");
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("ours");
        };
        program(&own, 0o755);
        program(&root.join("other/linelamp"), 0o755);
        program(&root.join("plain/linelamp"), 0o644);
        symlink(&own, root.join("link/linelamp")).expect("a link");
        symlink("nowhere", root.join("dead/linelamp")).expect("a link");
        let folders = ["relative", "dead", "plain", "other", "link", "real", "missing"];
        let path = env::join_paths(folders.map(|name| match name {
            "relative" => PathBuf::from("."),
            name => root.join(name),
        }))
        .expect("a PATH");
        let name = OsStr::new("linelamp");
        let found = candidates(&own, None, &path, name);
        assert_eq!(found[..2], [root.join("link/linelamp"), own.clone()]);
        assert!(found.iter().all(|found| is_same(found, &own)), "{found:?}");
        let called = root.join("link/linelamp");
        assert_eq!(candidates(&own, Some(&called), OsStr::new(""), name), [called]);
        assert!(candidates(&own, Some(Path::new("linelamp")), OsStr::new(""), name).is_empty());
    }
}
