use std::process::Command;

use super::*;

fn service() -> Service {
    Service {
        program: "/opt/my \"100%\" $apps/sateen-host".into(),
        data_folder: "/home/o'neil & co/<host>".into(),
    }
}

#[test]
fn paths_are_quoted_for_each_system() {
    let unit = service().file(System::Systemd);
    let expected =
        "ExecStart=\"/opt/my \\\"100%%\\\" $$apps/sateen-host\" --data-dir \"/home/o'neil & co/<host>\"\n";
    assert!(unit.contains(expected), "{unit}");
    let plist = service().file(System::Launchd);
    assert!(plist.contains("<string>/home/o'neil &amp; co/&lt;host&gt;</string>"), "{plist}");
    let script = service().file(System::Windows);
    assert!(script.contains("-Argument '--data-dir \"/home/o''neil & co/<host>\"'"), "{script}");
    for system in [System::Systemd, System::Launchd, System::Windows] {
        let file = service().file(system);
        assert!(!file.contains("{program}") && !file.contains("{data_folder}"), "{file}");
    }
}

#[test]
fn the_unit_has_walls_and_leaves_the_senses_open() {
    let unit = service().file(System::Systemd);
    for line in [
        "NoNewPrivileges=yes",
        "SystemCallFilter=@system-service",
        "UMask=0077",
        "Delegate=",
        "RestartPreventExitStatus=2",
    ] {
        assert!(unit.lines().any(|one| one.starts_with(line)), "{line}");
    }
    for blind in ["PrivateDevices=yes", "ProtectProc=", "MemoryDenyWriteExecute=yes"] {
        assert!(!unit.lines().any(|one| one.starts_with(blind)), "{blind}");
    }
}

/// Where systemd is installed, it reads the unit.
#[test]
fn systemd_accepts_the_unit() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = std::env::current_exe().expect("it runs");
    let service = Service { program, data_folder: folder.path().join("a folder") };
    let path = folder.path().join("sateen-host.service");
    std::fs::write(&path, service.file(System::Systemd)).expect("written");
    let Ok(output) = Command::new("systemd-analyze").args(["verify", "--user"]).arg(&path).output() else {
        eprintln!("not verified: there is no systemd-analyze here");
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    let about: Vec<&str> = said.lines().filter(|line| line.contains("sateen-host.service")).collect();
    assert!(about.is_empty(), "{about:?}");
}

/// Where Python is installed, it reads the property list.
#[test]
fn the_property_list_is_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("org.sateen.host.plist");
    std::fs::write(&path, service().file(System::Launchd)).expect("written");
    let program =
        "import plistlib, sys; d = plistlib.load(open(sys.argv[1], 'rb')); print(d['ProgramArguments'][2])";
    let Ok(output) = Command::new("python3").args(["-c", program]).arg(&path).output() else {
        eprintln!("not read: there is no Python here");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim_end(), "/home/o'neil & co/<host>");
}
