//! The rule for where each folder is.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::env;
use crate::exit::{FAILED, Failure, USAGE};

/// The name of our folder within those of the user, and of the configuration file.
const NAME: &str = "linelamp";
const FILE: &str = "linelamp.toml";

/// Where linelamp's things are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Paths {
    /// The folder of the user's configuration.
    pub(crate) config: PathBuf,
    /// Database, spool, log, lock.
    pub(crate) state: PathBuf,
    /// Sockets.
    pub(crate) runtime: PathBuf,
    /// True if `LINELAMP_HOME` sets them apart from everything else on the machine.
    pub(crate) apart: bool,
}

impl Paths {
    /// Finds the folders by the environment.
    ///
    /// # Errors
    ///
    /// If neither `LINELAMP_HOME` nor a home folder is known, or `LINELAMP_HOME` is a relative path.
    pub(crate) fn find() -> Result<Self, Failure> {
        Self::by(&env::get, super::runtime_of_user)
    }

    /// The state folder alone, for clients that must not fail and want to start fast.
    pub(crate) fn find_state() -> Option<PathBuf> {
        state(&env::get).ok()
    }

    /// The folder of what we made for other programs to call. Unlike state it is nothing to be cleared
    /// away: editors name what lies in it.
    ///
    /// # Errors
    ///
    /// As [`Paths::find`].
    pub(crate) fn find_data() -> Result<PathBuf, Failure> {
        data(&env::get)
    }

    /// The user's configuration file; it need not exist.
    pub(crate) fn user_file(&self) -> PathBuf {
        self.config.join(FILE)
    }

    /// The machine's configuration file, unless `LINELAMP_HOME` sets us apart; it need not exist.
    pub(crate) fn system_file(&self) -> Option<PathBuf> {
        (!self.apart).then(|| Path::new("/etc").join(NAME).join(FILE))
    }

    /// Makes the folders of state and sockets, for their owner only.
    ///
    /// # Errors
    ///
    /// If one cannot be made, or belongs to somebody else.
    pub(crate) fn create(&self) -> Result<(), Failure> {
        // Clients look for sockets in `run`, also where they lie elsewhere and are linked from there.
        for folder in [&self.state, &self.state.join("run"), &self.runtime] {
            super::create_private(folder).map_err(|error| {
                Failure::new(
                    FAILED,
                    format!("cannot use the folder `{}`: {error}", folder.display()),
                )
                .hint(format!("set {} to a folder of your own", env::LINELAMP_HOME))
            })?;
        }
        Ok(())
    }

    fn by(
        get: &dyn Fn(&str) -> Option<OsString>,
        runtime_of_user: impl FnOnce() -> Option<PathBuf>,
    ) -> Result<Self, Failure> {
        let state = state(get)?;
        if let Some(home) = apart(get)? {
            return Ok(Self { config: home, runtime: state.join("run"), state, apart: true });
        }
        let config = match absolute(get, env::XDG_CONFIG_HOME) {
            Some(folder) => folder,
            None => home(get)?.join(".config"),
        };
        let runtime = absolute(get, env::XDG_RUNTIME_DIR)
            .or_else(runtime_of_user)
            .map_or_else(|| state.join("run"), |folder| folder.join(NAME));
        Ok(Self { config: config.join(NAME), state, runtime, apart: false })
    }
}

fn state(get: &dyn Fn(&str) -> Option<OsString>) -> Result<PathBuf, Failure> {
    if let Some(home) = apart(get)? {
        return Ok(home.join("state"));
    }
    let folder = match absolute(get, env::XDG_STATE_HOME) {
        Some(folder) => folder,
        None => home(get)?.join(".local/state"),
    };
    Ok(folder.join(NAME))
}

fn data(get: &dyn Fn(&str) -> Option<OsString>) -> Result<PathBuf, Failure> {
    if let Some(home) = apart(get)? {
        return Ok(home.join("data"));
    }
    let folder = match absolute(get, env::XDG_DATA_HOME) {
        Some(folder) => folder,
        None => home(get)?.join(".local/share"),
    };
    Ok(folder.join(NAME))
}

/// The one folder for everything, if one is set.
fn apart(get: &dyn Fn(&str) -> Option<OsString>) -> Result<Option<PathBuf>, Failure> {
    let Some(home) = get(env::LINELAMP_HOME).map(PathBuf::from) else { return Ok(None) };
    if home.is_absolute() {
        return Ok(Some(home));
    }
    // Agents call us from any folder: a relative path would name another place in each.
    let message = format!("{} is the relative path `{}`", env::LINELAMP_HOME, home.display());
    Err(Failure::new(USAGE, message).hint("set it to an absolute path, or unset it"))
}

/// A folder of the XDG specification, which says that relative ones are to be ignored.
fn absolute(get: &dyn Fn(&str) -> Option<OsString>, name: &str) -> Option<PathBuf> {
    get(name).map(PathBuf::from).filter(|folder| folder.is_absolute())
}

fn home(get: &dyn Fn(&str) -> Option<OsString>) -> Result<PathBuf, Failure> {
    absolute(get, env::HOME).or_else(|| etcetera::home_dir().ok()).ok_or_else(|| {
        Failure::new(USAGE, "no home folder is known").hint(format!(
            "set {} or {}",
            env::HOME,
            env::LINELAMP_HOME
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(variables: &[(&str, &str)], runtime: Option<&str>) -> Result<Paths, Failure> {
        let get = |name: &str| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        };
        Paths::by(&get, || runtime.map(PathBuf::from))
    }

    /// Variables, the login manager's folder, and what comes of them.
    type Case<'a> = (&'a [(&'a str, &'a str)], Option<&'a str>, [&'a str; 3]);

    #[test]
    fn each_folder_follows_its_rule() {
        let xdg = [
            ("HOME", "/home/a"),
            ("XDG_CONFIG_HOME", "/c"),
            ("XDG_STATE_HOME", "/s"),
            ("XDG_RUNTIME_DIR", "/r"),
        ];
        let relative = [("HOME", "/home/a"), ("XDG_CONFIG_HOME", "c"), ("XDG_RUNTIME_DIR", "r")];
        let apart = [("HOME", "/home/a"), ("XDG_STATE_HOME", "/s"), ("LINELAMP_HOME", "/x")];
        let state = "/home/a/.local/state/linelamp";
        let run = "/home/a/.local/state/linelamp/run";
        let cases: [Case<'_>; 5] = [
            (&xdg, Some("/run/user/1"), ["/c/linelamp", "/s/linelamp", "/r/linelamp"]),
            (&xdg[..1], None, ["/home/a/.config/linelamp", state, run]),
            (
                &xdg[..1],
                Some("/run/user/1"),
                ["/home/a/.config/linelamp", state, "/run/user/1/linelamp"],
            ),
            (&relative, None, ["/home/a/.config/linelamp", state, run]),
            (&apart, Some("/run/user/1"), ["/x", "/x/state", "/x/state/run"]),
        ];
        for (variables, runtime, [config, state, run]) in cases {
            let found = paths(variables, runtime).expect("folders");
            let expected = [config, state, run].map(PathBuf::from);
            assert_eq!([found.config, found.state, found.runtime], expected, "{variables:?}");
        }
    }

    #[test]
    fn a_relative_home_is_refused_and_nothing_else_is_read_when_set_apart() {
        assert!(paths(&[("LINELAMP_HOME", "x"), ("HOME", "/home/a")], None).is_err());
        let found = paths(&[("LINELAMP_HOME", "/x")], None).expect("folders");
        assert_eq!(found.system_file(), None);
        assert_eq!(found.user_file(), Path::new("/x/linelamp.toml"));
        let found = paths(&[("HOME", "/h")], None).expect("folders");
        assert_eq!(found.system_file().as_deref(), Some(Path::new("/etc/linelamp/linelamp.toml")));
    }

    #[test]
    fn what_editors_call_is_not_in_the_state_folder() {
        for (variables, expected) in [
            (&[("HOME", "/h")][..], "/h/.local/share/linelamp"),
            (&[("HOME", "/h"), ("XDG_DATA_HOME", "/d")], "/d/linelamp"),
            (&[("HOME", "/h"), ("XDG_DATA_HOME", "d")], "/h/.local/share/linelamp"),
            (&[("LINELAMP_HOME", "/x"), ("XDG_DATA_HOME", "/d")], "/x/data"),
        ] {
            let get = |name: &str| {
                let found = variables.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| OsString::from(value))
            };
            assert_eq!(data(&get).expect("a folder"), Path::new(expected), "{variables:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn created_folders_are_private_even_if_they_were_open() {
        use std::os::unix::fs::PermissionsExt as _;

        let root = tempfile::tempdir().expect("a folder");
        let home = root.path().join("a/b");
        let get = |name: &str| (name == env::LINELAMP_HOME).then(|| home.clone().into_os_string());
        let paths = Paths::by(&get, || None).expect("folders");
        let mode =
            |folder: &Path| std::fs::metadata(folder).expect("there").permissions().mode() & 0o777;
        paths.create().expect("ours");
        assert_eq!([mode(&paths.state), mode(&paths.runtime), mode(&home)], [0o700; 3]);
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&paths.runtime, open).expect("ours");
        paths.create().expect("ours");
        assert_eq!(mode(&paths.runtime), 0o700);
        let file = root.path().join("file");
        std::fs::write(&file, "").expect("writable");
        let blocked = Paths { state: file.join("state"), ..paths };
        assert!(blocked.create().expect_err("no folder").to_string().contains("file/state"));
    }
}
