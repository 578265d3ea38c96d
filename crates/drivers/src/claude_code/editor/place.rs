//! Where editors keep their settings: data.

use std::path::{Path, PathBuf};

/// An editor that can run the Claude Code extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Editor {
    /// Visual Studio Code.
    Stable,
    /// Visual Studio Code Insiders.
    Insiders,
    /// Cursor.
    Cursor,
    /// `VSCodium`.
    Vscodium,
    /// The servers that editors start on this machine when they are used from another one.
    Remote,
}

/// The operating system, as far as folders differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// Linux and other Unix systems.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl System {
    /// The one this program was built for.
    pub const HERE: Self = if cfg!(target_os = "macos") {
        Self::MacOs
    } else if cfg!(windows) {
        Self::Windows
    } else {
        Self::Linux
    };
}

/// One settings file an editor reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Whose it is.
    pub editor: Editor,
    /// The editor's name, for people.
    pub name: &'static str,
    /// The settings file. The editor is there if its folder is; the file need not be.
    pub settings: PathBuf,
}

/// Editors with a window: the folder of their data.
const DESKTOP: [(Editor, &str, &str); 4] = [
    (Editor::Stable, "VS Code", "Code"),
    (Editor::Insiders, "VS Code Insiders", "Code - Insiders"),
    (Editor::Cursor, "Cursor", "Cursor"),
    (Editor::Vscodium, "VSCodium", "VSCodium"),
];

/// Servers: the folder of their data in the home folder.
const SERVERS: [(&str, &str); 4] = [
    ("VS Code server", ".vscode-server"),
    ("VS Code Insiders server", ".vscode-server-insiders"),
    ("Cursor server", ".cursor-server"),
    ("VSCodium server", ".vscodium-server"),
];

/// The folder in which programs keep their data. `told` is what the environment says: the value of
/// `XDG_CONFIG_HOME` on Linux, of `APPDATA` on Windows.
pub fn data_folder(system: System, home: &Path, told: Option<&Path>) -> PathBuf {
    match (system, told) {
        (System::Linux | System::Windows, Some(folder)) => folder.to_owned(),
        (System::Linux, None) => home.join(".config"),
        (System::Windows, None) => home.join("AppData").join("Roaming"),
        (System::MacOs, _) => home.join("Library").join("Application Support"),
    }
}

/// Every settings file that an editor may read, whether it is there or not. `data` is from
/// [`data_folder`].
pub fn places(home: &Path, data: &Path) -> Vec<Place> {
    let desktop = DESKTOP.iter().map(|&(editor, name, folder)| Place {
        editor,
        name,
        settings: data.join(folder).join("User").join("settings.json"),
    });
    let servers = SERVERS.iter().map(|&(name, folder)| Place {
        editor: Editor::Remote,
        name,
        settings: home.join(folder).join("data").join("Machine").join("settings.json"),
    });
    desktop.chain(servers).collect()
}

impl Place {
    /// True if the editor is there, that is, the folder of its settings.
    pub fn exists(&self) -> bool {
        self.settings.parent().is_some_and(Path::is_dir)
    }

    /// The settings of the editor's profiles. Each profile has a file of its own, in which nothing of the
    /// main one is seen; those that are there come in the order of their names.
    #[must_use]
    pub fn profiles(&self) -> Vec<Self> {
        let folder = self.settings.with_file_name("profiles");
        let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        let mut files: Vec<PathBuf> = entries
            .map(|entry| entry.path().join("settings.json"))
            .filter(|file| file.is_file())
            .collect();
        files.sort();
        files.into_iter().map(|settings| Self { settings, ..self.clone() }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_system_has_its_folder() {
        let home = Path::new("/h");
        for (system, told, folder) in [
            (System::Linux, None, "/h/.config"),
            (System::Linux, Some("/c"), "/c"),
            (System::MacOs, Some("/c"), "/h/Library/Application Support"),
            (System::Windows, None, "/h/AppData/Roaming"),
            (System::Windows, Some("/r"), "/r"),
        ] {
            assert_eq!(data_folder(system, home, told.map(Path::new)), Path::new(folder));
        }
    }

    #[test]
    fn the_settings_of_all_editors_are_known() {
        let found = places(Path::new("/h"), Path::new("/h/.config"));
        let of = |editor| -> Vec<&str> {
            let place = found.iter().filter(|place| place.editor == editor);
            place.map(|place| place.settings.to_str().expect("text")).collect()
        };
        assert_eq!(of(Editor::Stable), ["/h/.config/Code/User/settings.json"]);
        assert_eq!(of(Editor::Insiders), ["/h/.config/Code - Insiders/User/settings.json"]);
        assert_eq!(of(Editor::Cursor), ["/h/.config/Cursor/User/settings.json"]);
        assert_eq!(of(Editor::Vscodium), ["/h/.config/VSCodium/User/settings.json"]);
        let servers = of(Editor::Remote);
        assert_eq!(servers[0], "/h/.vscode-server/data/Machine/settings.json");
        assert_eq!(servers.len(), 4);
    }

    #[test]
    fn profiles_are_those_with_settings_of_their_own() {
        let home = tempfile::tempdir().expect("a folder");
        let user = home.path().join("Code/User");
        let place = &places(home.path(), home.path())[0];
        assert!(!place.exists() && place.profiles().is_empty());
        for name in ["b", "a", "none"] {
            std::fs::create_dir_all(user.join("profiles").join(name)).expect("made");
        }
        for name in ["a", "b"] {
            let file = user.join("profiles").join(name).join("settings.json");
            std::fs::write(file, "{}").expect("written");
        }
        let found: Vec<_> = place.profiles().into_iter().map(|place| place.settings).collect();
        let expected =
            ["a", "b"].map(|name| user.join("profiles").join(name).join("settings.json"));
        assert_eq!(found, expected);
        assert!(place.exists());
    }
}
