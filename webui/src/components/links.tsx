// Mantine's looks on TanStack Router's links, with the router's types.

import { Anchor, type AnchorProps, Button, type ButtonProps } from '@mantine/core';
import { createLink } from '@tanstack/react-router';
import { type AnchorHTMLAttributes, forwardRef } from 'react';

type Native<Props> = Props & Omit<AnchorHTMLAttributes<HTMLAnchorElement>, keyof Props>;

export const TextLink = createLink(
  forwardRef<HTMLAnchorElement, Native<AnchorProps>>((props, ref) => <Anchor ref={ref} {...props} />),
);

export const LinkButton = createLink(
  forwardRef<HTMLAnchorElement, Native<ButtonProps>>((props, ref) => (
    <Button component="a" ref={ref} {...props} />
  )),
);
