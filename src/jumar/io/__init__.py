"""Files: logs of any kind, controllers, checked documents."""
