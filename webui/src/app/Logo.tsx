/** The mark of the project: a rudder with its trim tab. Decorative; the name stands beside it. */
export function Logo() {
  return (
    <svg width="26" height="26" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="#14708f" />
      <path d="M7 8h13.5l4.5 8-4.5 8H7l4.8-8z" fill="#fff" opacity=".92" />
      <path d="M20.5 8 25 16l-4.5 8 2-8z" fill="#f2b85c" />
    </svg>
  );
}
