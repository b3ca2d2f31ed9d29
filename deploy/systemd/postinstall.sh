#!/bin/sh
# A node is not started before somebody has said which Redis.
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
