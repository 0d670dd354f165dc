/** Titles that break frames, borrow the row, or hide. */
export const HOSTILE_TITLES = [
  "修复登录问题修复登录问题",
  "👩‍👩‍👧‍👦 family",
  "e\u0301te\u0301",
  "⚠ warn",
  "⚠️ warn",
  "🇫🇷🇩🇪",
  "👍🏽 ok",
  "한글",
  "ٱللَّهِ",
  "a".repeat(300),
  "approve \u202etxt.exe\u202c",
  "שלום abc 123",
  "\u001b[31mred\u001b[0m\nsecond line",
  "修复登录问题修复登录问题修复登录问题修复登录问题",
]
