# A volunteer's host, started with its user. Save this file as sateen-host.ps1 and run it in PowerShell; it needs no
# administrator. To remove the task: Unregister-ScheduledTask -TaskName 'Sateen host'
#
# It is a task and not a service: services have a session of their own, from which the user's input cannot be seen.
$action = New-ScheduledTaskAction -Execute '{program}' -Argument '--data-dir "{data_folder}"'
$trigger = New-ScheduledTaskTrigger -AtLogOn -User $env:USERNAME
$principal = New-ScheduledTaskPrincipal -UserId $env:USERNAME -LogonType Interactive -RunLevel Limited
# Priority 9 is the lowest. On battery the host pauses by itself, so that its status tells why.
$settings = New-ScheduledTaskSettingsSet -Priority 9 -AllowStartIfOnBatteries -DontStopIfGoingOnBatteries `
  -MultipleInstances IgnoreNew -RestartCount 999 -RestartInterval (New-TimeSpan -Minutes 1) `
  -ExecutionTimeLimit ([TimeSpan]::Zero)
Register-ScheduledTask -TaskName 'Sateen host' -Action $action -Trigger $trigger -Principal $principal `
  -Settings $settings -Description 'Computes for a grid while nobody uses this machine.' -Force
Start-ScheduledTask -TaskName 'Sateen host'
