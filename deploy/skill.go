// Package deploy holds what people and clients get beside the program.
package deploy

import _ "embed"

// SkillName is the name of the plugin's skill, and of its folder.
const SkillName = "python-sessions"

// Skill is the SKILL.md that teaches an agent the two tools.
//
//go:embed plugin/skills/python-sessions/SKILL.md
var Skill []byte
